"""Artifacts: large results and files of executions, with their previews, pages and built-in tools."""
