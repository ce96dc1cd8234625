"""Routes for sources and their tools."""
