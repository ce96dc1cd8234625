"""Coding agents: one handler for all that speak the Agent Client Protocol, and what differs between them."""
