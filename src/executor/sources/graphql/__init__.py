"""GraphQL services as sources."""
