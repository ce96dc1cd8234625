"""Similarity by meaning, only with the extra `semantic`."""
