"""The catalog: every tool of a workspace, found, described and checked."""
