"""The HTTP edge that the API, MCP and the web UI share: guard, problems, waiting."""
