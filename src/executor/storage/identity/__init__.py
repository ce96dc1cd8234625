"""Rows of organizations, workspaces, members, keys and sessions."""
