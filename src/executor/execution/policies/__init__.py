"""Policies in force, and the ones that decisions of people create."""
