"""The built-in tools: `discover`, `describe` and `executor.*`."""
