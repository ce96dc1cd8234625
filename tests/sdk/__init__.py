"""The SDK against a real daemon, and embedded."""
