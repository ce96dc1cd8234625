"""JSON Schema as shapes, for type declarations."""
