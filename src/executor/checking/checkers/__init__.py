"""The type checkers: a TypeScript language server and a Python checker, each in a sealed process."""
