"""Outcomes as tool results: what a model reads of them."""
