"""Webhooks: signed messages to other services when something happens in a workspace."""
