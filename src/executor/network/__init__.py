"""Outbound HTTP: which addresses may be reached, and the one client that reaches them."""
