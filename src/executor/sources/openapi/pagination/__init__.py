"""OpenAPI lists that come in pages: how the document describes them, and the `.all` tool."""
