"""Agent sessions, and what their models cost."""
