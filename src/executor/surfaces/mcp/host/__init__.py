"""`executor mcp-host`: an MCP server that is a command, served over streamable HTTP."""
