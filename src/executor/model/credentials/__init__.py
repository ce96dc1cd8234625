"""Credentials of sources: connections, secrets, and a credential on its way to a source."""
