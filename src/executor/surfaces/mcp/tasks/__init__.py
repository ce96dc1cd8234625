"""Executions as tasks, for clients that know these (an extension of revision 2026-07-28)."""
