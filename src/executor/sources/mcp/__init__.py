"""The `mcp` kind: servers that speak the Model Context Protocol, over streamable HTTP, SSE or standard input/output."""
