"""Real MCP clients, connected with the texts of `executor connect` as they are, with a model that plays a script."""
