"""Plain Python functions as a source. `from executor.sources.python import tool` marks what a function does."""

from executor.sources.python.marks import tool

__all__ = ["tool"]
