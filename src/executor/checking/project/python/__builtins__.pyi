# What the sandbox adds to Python's own names.
from typing import Any

from executor_tools import tools as tools

class ToolError(Exception):
    code: str
    status: int | None
    message: str
    details: Any
    retryable: bool
    hint: str
    def __init__(
        self,
        message: str = "",
        *,
        code: str = "tool_error",
        status: Any = None,
        details: Any = None,
        retryable: bool = False,
        hint: str = "",
    ) -> None: ...

def error_of(error: Any) -> Any: ...
