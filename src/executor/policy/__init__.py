"""Policies: which calls are allowed, refused or need approval. Pure functions over `model`."""
