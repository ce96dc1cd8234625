"""A server's form in a terminal says what to enter in words, not in keywords of JSON Schema."""

from __future__ import annotations

from typing import Any

from executor.schemas.form import LIMITS as KEYWORDS
from executor.schemas.form import read_form
from executor.surfaces.views.elicitations import LIMITS, field_text, field_view


def text_of(definition: dict[str, Any]) -> str:
    (field,) = read_form({"type": "object", "properties": {"field": definition}})
    return field_text(field_view(field))


def test_choices_are_named_with_what_they_mean() -> None:
    options = [{"const": "hero-1", "title": "Superman"}, {"const": "other", "title": "other"}]
    shown = text_of(
        {"type": "array", "items": {"anyOf": options}, "minItems": 1, "title": "Heroes", "description": "Who?"}
    )
    assert shown == "field (choices of hero-1 (Superman), other, choose at least 1, optional): Heroes: Who?"


def test_every_limit_of_a_form_has_words() -> None:
    assert {word for words in KEYWORDS.values() for word in words} == set(LIMITS)
