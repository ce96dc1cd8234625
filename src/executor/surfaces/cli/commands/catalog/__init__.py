"""Commands for sources and their tools."""
