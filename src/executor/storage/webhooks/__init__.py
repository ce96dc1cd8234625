"""Webhooks and what is sent to them."""
