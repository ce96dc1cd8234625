"""The surfaces: HTTP API, MCP, web UI and CLI."""
