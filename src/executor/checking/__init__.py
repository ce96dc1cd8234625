"""Type checking before anything runs, in both languages, against what the catalog declares."""
