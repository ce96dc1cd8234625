"""Declarations of tools for type checkers: `.d.ts` and `.pyi` text from JSON Schema."""
