"""Whether a value arrived as its style says, decoded by the rules of the standard."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any
from urllib.parse import unquote

from .calls import Place

SPLITS = {"spaceDelimited": ("%20", "+"), "pipeDelimited": ("%7C", "|"), "tabDelimited": ("%09",)}


def said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def same(arrived: str, value: Any) -> bool:
    if isinstance(value, str):
        return arrived == value
    if isinstance(value, bool):
        return arrived == said(value)
    try:
        return bool(json.loads(arrived) == value)
    except ValueError:
        return False


def same_json(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def path_fits(place: Place, raw: str) -> bool:
    if place.content:
        return same(unquote(raw), place.value)
    if place.style == "label":
        if not raw.startswith("."):
            return False
        return listed_fits(place, re.split(r"\.", raw[1:]) if place.explode else raw[1:].split(","))
    if place.style == "matrix":
        pairs = [one.partition("=") for one in raw.split(";")[1:]]
        if place.explode and isinstance(place.value, dict):
            return {unquote(a): unquote(b) for a, _, b in pairs} == {key: said(one) for key, one in place.value.items()}
        if any(unquote(a) != place.name for a, _, _ in pairs):
            return False
        return listed_fits(place, [b for _, _, b in pairs] if place.explode else pairs[0][2].split(","))
    separators = SPLITS.get(place.style, (",",))
    return listed_fits(place, re.split("|".join(map(re.escape, separators)), raw))


def listed_fits(place: Place, pieces: list[str]) -> bool:
    """Pieces as they stand between separators, still encoded."""
    texts = [unquote(one) for one in pieces]
    value = place.value
    if isinstance(value, list):
        return len(texts) == len(value) and all(same(one, part) for one, part in zip(texts, value, strict=True))
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if part is not None}
        if place.explode:
            pairs = dict(one.partition("=")[::2] for one in pieces)
            return {unquote(key) for key in pairs} == set(kept) and all(
                same(unquote(b), kept[unquote(a)]) for a, b in pairs.items()
            )
        keys, parts = texts[::2], texts[1::2]
        return keys == list(kept) and all(same(one, part) for one, part in zip(parts, kept.values(), strict=True))
    return len(texts) == 1 and same(texts[0], value)


def query_fits(place: Place, pairs: list[tuple[str, str]], used: set[str]) -> bool:
    """Of a query or a form body: values still encoded."""
    value = place.value
    mine = [raw for name, raw in pairs if name == place.name]
    if isinstance(value, dict | list) and place.style == "deepObject" and not place.content:
        inner = [(name, raw) for name, raw in pairs if name.startswith(f"{place.name}[")]
        used.update(name for name, _ in inner)
        arrived = nested([(name[len(place.name) :], unquote(raw)) for name, raw in inner])
        return arrived == bare(value) or not (arrived or bare(value))
    if isinstance(value, dict) and place.explode and not place.content:
        used.update(value)
        kept = {key: one for key, one in value.items() if one is not None}
        return all(any(name == key and same(unquote(raw), one) for name, raw in pairs) for key, one in kept.items())
    used.add(place.name)
    if place.content and "text/" not in place.content:
        return len(mine) == 1 and same_json(unquote(mine[0]), value)
    if isinstance(value, list) and place.explode:
        return len(mine) == len(value) and all(same(unquote(a), b) for a, b in zip(mine, value, strict=True))
    if value in ([], {}):
        return not mine or mine == [""]
    if len(mine) != 1:
        return False
    if not isinstance(value, list | dict):
        return same(unquote(mine[0]), value)
    separators = SPLITS.get(place.style, (",",))
    return listed_fits(place, re.split("|".join(map(re.escape, separators)), mine[0]))


def bare(value: Any) -> Any:
    """As brackets can tell it: text only, nothing empty."""
    if isinstance(value, dict):
        found = {key: bare(one) for key, one in value.items() if one is not None}
        return {key: one for key, one in found.items() if one not in ({}, [])}
    if not isinstance(value, list):
        return said(value)
    return [one for one in map(bare, value) if one not in ({}, [])]


def nested(pairs: list[tuple[str, str]]) -> Any:
    root: dict[str, Any] = {}
    for name, text in pairs:
        keys = re.findall(r"\[([^\]]*)\]", name)
        node = root
        for key in keys[:-1]:
            node = node.setdefault(key, {})
        last = keys[-1]
        if last == "":
            node.setdefault("", []).append(text)
        else:
            node[last] = text
    return lists(root)


def lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if set(node) == {""}:
        return node[""]
    made = {key: lists(one) for key, one in node.items()}
    if made and all(key.isdecimal() for key in made) and sorted(map(int, made)) == list(range(len(made))):
        return [made[str(index)] for index in range(len(made))]
    return made


def header_fits(place: Place, arrived: str | None) -> bool:
    if arrived is None:
        return place.value == []
    text = arrived.encode("latin-1").decode("utf-8", "replace")
    if place.content:
        return same_json(text, place.value)
    if isinstance(place.value, str):
        return text.strip() == place.value.strip()
    separators = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
    pieces = text.split(separators.get(place.style, ","))
    whole = Place(place.name, place.place, place.style, place.explode, "", place.value)
    return listed_fits(whole, [one.replace("%", "%25") for one in pieces]) or text == one_by_one(place.value)


def one_by_one(value: Any) -> str:
    """With JSON for what is nested deeper, of which the standard says nothing."""
    parts = [one for pair in value.items() for one in pair] if isinstance(value, dict) else value
    parts = parts if isinstance(parts, list) else [parts]
    compact = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
    return ",".join(compact(one) if isinstance(one, list | dict) else said(one) for one in parts)


def cookie_fits(place: Place, header: str) -> bool:
    pairs = [(unquote(one.partition("=")[0]), one.partition("=")[2]) for one in header.split("; ")]
    return query_fits(place, pairs, set())
