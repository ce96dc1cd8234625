"""Compact signatures of tools, in TypeScript and Python, as agents read them."""
