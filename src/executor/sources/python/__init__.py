"""Plain Python functions as a source. `from executor.sources.python import tool` marks what a function does.

`credential()` gives a function the values of the connection that its call uses.
"""

from executor.sources.python.credential import credential
from executor.sources.python.decorator import tool

__all__ = ["credential", "tool"]
