"""Agent frameworks that get `execute` from the SDK as a function."""
