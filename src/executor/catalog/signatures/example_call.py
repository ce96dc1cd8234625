"""Arguments as a call in the agent's language."""

from __future__ import annotations

import json
from typing import Any

from executor.catalog.declarations.python_types import is_word
from executor.catalog.signatures.escape import key, literal
from executor.model.language import Language


def call(path: str, arguments: dict[str, Any], language: Language) -> str:
    if language == "python":
        return f"await tools.{path}({python_arguments(arguments)})"
    return f"await tools.{path}({typescript(arguments) if arguments else ''})"


def typescript(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{field_key(name)}: {typescript(one)}" for name, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(typescript(one) for one in value)}]"
    return literal(value)


def field_key(name: str) -> str:
    """Written plainly, `__proto__` would be no field but the object's prototype."""
    return '["__proto__"]' if name == "__proto__" else key(name)


def python_arguments(arguments: dict[str, Any]) -> str:
    if all(is_word(name) for name in arguments):
        return ", ".join(f"{name}={python(value)}" for name, value in arguments.items())
    return python(arguments)


def python(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{python(name)}: {python(one)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(python(one) for one in value)}]"
    return json.dumps(value) if isinstance(value, str) and value.isascii() and value.isprintable() else ascii(value)
