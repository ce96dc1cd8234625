"""A small sample service: invoices of a little shop, with an OpenAPI document. For the demo, tutorials and tests."""
