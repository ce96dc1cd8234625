"""OpenAPI documents: detected, fetched, parsed, resolved."""
