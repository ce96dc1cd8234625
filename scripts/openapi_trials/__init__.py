"""What public tools make of the OpenAPI document of a running daemon."""
