"""JSON Schema: validation, examples, differences, digests. Pure functions."""
