"""The daemon: one process that serves every surface. Imported by each CLI start, so nothing is imported here."""
