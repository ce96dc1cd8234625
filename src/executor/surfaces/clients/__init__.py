"""MCP clients: where each keeps its servers, and what it needs to connect to this daemon."""
