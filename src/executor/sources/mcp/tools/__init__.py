"""Tools of MCP servers: their list, names, schemas and results."""
