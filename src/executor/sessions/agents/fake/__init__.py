"""A coding agent without a model: it does what its prompt says. For tests, and to try a session out."""
