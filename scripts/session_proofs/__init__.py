"""`scripts/prove-sessions`."""
