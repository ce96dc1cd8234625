"""How the parts of the product are put together."""
