"""Rows of executions, calls, interactions, artifacts and events."""
