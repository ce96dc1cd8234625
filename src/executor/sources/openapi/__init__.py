"""OpenAPI documents as sources."""
