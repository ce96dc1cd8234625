"""Executions as tasks, for clients that know these: of revision 2025-11-25, and with the extension of the next one."""
