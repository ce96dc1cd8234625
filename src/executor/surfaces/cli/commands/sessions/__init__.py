"""Commands about agent sessions."""
