"""`executor.dataclass` behaves as the standard library's, and every frozen class with slots is created by it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from executor.dataclass import dataclass

SOURCE = Path(__file__).parents[2] / "src" / "executor"
GUEST = SOURCE / "runtime" / "python" / "guest"  # runs inside a sandbox, which has the standard library alone
FROZEN = "@dataclass(frozen=True, slots=True)"
STANDARD = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Base:
    kind: ClassVar[str] = "thing"
    name: str
    token: str = dataclasses.field(default="t", repr=False)
    seen: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Derived(Base):
    size: int = 0
    double: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.size)


@dataclass(frozen=True, slots=True)
class Remembered:
    name: str
    found: dict[str, int] = dataclasses.field(init=False, default_factory=dict)
    number: int = dataclasses.field(init=False, default=3)


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Single:
    value: float


def twin_of(cls: type[Any]) -> Any:
    """The same class by the standard library."""
    fields = [(field.name, field.type, copy.copy(field)) for field in dataclasses.fields(cls)]
    return dataclasses.make_dataclass(cls.__name__, fields, frozen=True, slots=True)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [(("a",), {}), (("a", "b"), {}), (("a",), {"seen": {"x": 1}}), ((), {"name": "a", "token": "b"})],
)
def test_it_creates_what_the_standard_library_creates(arguments: tuple[str, ...], options: Mapping[str, Any]) -> None:
    ours, theirs = Base(*arguments, **options), twin_of(Base)(*arguments, **options)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert Base.__match_args__ == type(theirs).__match_args__
    assert not hasattr(ours, "__dict__")


def test_a_hidden_field_is_in_no_text() -> None:
    assert "secret" not in repr(Base("a", "secret"))
    assert "secret" not in repr(Derived("a", "secret"))


def test_equality_and_hashes_go_by_the_fields_that_are_compared() -> None:
    assert Base("a", seen={"x": 1}) == Base("a")
    assert hash(Base("a", seen={"x": 1})) == hash(Base("a"))
    assert Base("a") != Base("b")
    assert Base("a") != Derived("a")
    assert Single(1) == Single(1.0)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert {Single(1), Single(1.0), Single(2)} == {Single(1), Single(2)}
    assert Single(1).__eq__(1) is NotImplemented


def test_nothing_of_it_can_be_changed() -> None:
    thing = Base("a")
    for name in ("name", "seen", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, "b")
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(thing, name)


def test_each_instance_has_a_default_of_its_own() -> None:
    assert Base("a").seen is not Base("a").seen
    assert Remembered("a").found is not Remembered("a").found
    assert (Remembered("a").found, Remembered("a").number) == ({}, 3)


def test_copies_are_equal_and_as_frozen() -> None:
    thing = Derived("a", "b", {"x": 1}, 3)
    assert thing.double == 6
    assert dataclasses.replace(thing, size=4) == Derived("a", "b", {"x": 1}, 4)
    for copied in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):  # noqa: S301 - our own
        assert copied == thing
        assert copied.seen == thing.seen
        with pytest.raises(dataclasses.FrozenInstanceError):
            copied.name = "b"


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(TypeError, match=r"Base\.__init__\(\) missing 1 required positional argument: 'name'"):
        Base()  # type: ignore[call-arg]


def test_what_it_does_not_support_is_refused() -> None:
    with pytest.raises(TypeError, match="standard library"):

        @dataclass(frozen=True, slots=True)
        class Named:
            value: int = dataclasses.field(kw_only=True)


def test_nothing_but_the_initializer_is_compiled_for_a_class() -> None:
    for name in ("__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__"):
        assert getattr(Base, name).__code__ is getattr(Single, name).__code__


def test_the_initializer_is_compiled_for_the_first_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class Late:
        name: str
        size: int = 1

    before = Late.__init__
    assert (Late("a").size, Late.__init__ is before) == (1, False)
    compiled = Late.__init__
    assert list(inspect.signature(Late).parameters) == ["name", "size"]
    assert (Late("b", size=2), Late.__init__ is compiled) == (Late("b", 2), True)


def test_frozen_classes_with_slots_are_created_by_it() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if GUEST not in path.parents}
    others = [path for path, text in texts.items() if FROZEN in text and STANDARD.search(text)]
    assert others == []
