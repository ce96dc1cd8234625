"""GraphQL schemas: introspection, SDL and the outline that tools are built from."""
