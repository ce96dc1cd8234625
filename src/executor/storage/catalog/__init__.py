"""Rows of sources, tools, policies and search entries."""
