"""`dataclass` as in the standard library, but four times as fast to create if the class is frozen and has slots.

The standard library compiles six methods for each class, which took a fifth of a start. Here only `__init__` is
compiled, when the first instance is created; see docs/decisions/own-dataclass.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, **options: bool) -> Any:
        return create if options == FROZEN else dataclasses.dataclass(cls, **options)


__all__ = ["dataclass"]
FROZEN = {"frozen": True, "slots": True}
Fields = Sequence[dataclasses.Field[Any]]
Method = Callable[..., Any]


def create(cls: type) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard library writes the signature, which takes long
    created: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(created)
    methods = {
        "__init__": compile_later(created, fields),
        "__repr__": represent(fields),
        "__setattr__": refuse_to_assign,
        "__delattr__": refuse_to_delete,
        "__getstate__": get_state,
        "__setstate__": set_state,
    } | compare([field.name for field in fields if field.compare])
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(created, name, method)
    return created


def compile_later(cls: type[Any], fields: Fields) -> Method:
    """Most classes that a start imports get no instance until much later, or never."""
    for field in fields:
        if field.kw_only:
            raise TypeError(f"{cls.__qualname__}.{field.name}: `kw_only` is left to the standard library's dataclass")

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807 - it is one
        init = compile_init(cls, fields)
        if cls.__init__ is __init__:
            cls.__init__ = init
        init(self, *values, **named)

    return __init__


def compile_init(cls: type, fields: Fields) -> Method:
    """Sets the slots directly, since `__setattr__` refuses to."""
    names: dict[str, Any] = {"_missing": dataclasses.MISSING}
    parameters, lines = ["self"], []
    for field in fields:
        parameter, value = read_default(field, names)
        if field.init:
            parameters.append(parameter)
        if value:
            names[f"_set_{field.name}"] = getattr(cls, field.name).__set__
            lines.append(f"_set_{field.name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", names)  # noqa: S102 - names of fields and nothing else
    init: Method = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def read_default(field: dataclasses.Field[Any], names: dict[str, Any]) -> tuple[str, str]:
    """The parameter and the value of the field, in source code that finds its default in `names`. Without a parameter
    and a default there is no value: `__post_init__` sets it."""
    name = field.name
    if field.default is not dataclasses.MISSING:
        names[f"_default_{name}"] = field.default
        return f"{name}=_default_{name}", name if field.init else f"_default_{name}"
    if field.default_factory is not dataclasses.MISSING:
        names[f"_create_{name}"] = field.default_factory
        created = f"_create_{name}()"
        return f"{name}=_missing", f"{created} if {name} is _missing else {name}" if field.init else created
    return name, name if field.init else ""


def represent(fields: Fields) -> Method:
    names = [field.name for field in fields if field.repr]

    def represent_instance(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return represent_instance


def compare(names: Sequence[str]) -> dict[str, Method]:
    values = attrgetter(*names) if names else type

    def is_equal(self: object, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return {"__eq__": is_equal, "__hash__": lambda self: hash(values(self))}


def refuse_to_assign(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def refuse_to_delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
