"""How MCP servers are reached: streamable HTTP, SSE, standard input and output."""
