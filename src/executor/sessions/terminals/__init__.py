"""Terminals of sessions: opened, shown to watchers, written to by one of them, recorded and ended."""
