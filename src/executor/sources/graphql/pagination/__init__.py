"""GraphQL lists that come in pages."""
