"""The configuration files of MCP clients: edited in place, so that everything else in them stays as it is."""
