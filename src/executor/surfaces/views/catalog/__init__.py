"""Sources, tools and policies."""
