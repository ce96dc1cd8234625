"""Toolkits: administration, and the tools that MCP clients see as their own."""
