"""Reading submitted programs: tokens, calls of tools and the literals they are given."""
