"""Rows of connections, secrets and OAuth flows."""
