"""Texts that people read use the words of CONTRIBUTING.md; the allow-list of the others only shrinks."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED: dict[str, dict[str, int]] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
VOCABULARY = ("catalog/search/query", "storage/migrations")  # words that users search for; texts of the past
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`')
MARKUP = re.compile(r">([^<>{}=;]+)<|^\s*([A-Z“][^<>{}=;()]*)$", re.MULTILINE)


def words_to_avoid() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]+\|((?: ?`[^`|]+`,?)+) \|$", text[text.index("| write | not |") :], re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


def texts_of_python() -> Iterator[str]:
    """String literals with a space in them, and docstrings."""
    for path in (ROOT / "src" / "executor").rglob("*.py"):
        if not any(part in path.as_posix() for part in VOCABULARY):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                    yield node.value


def texts_of_web() -> Iterator[str]:
    for path in (ROOT / "web" / "src").rglob("*.ts*"):
        if path.name != "schema.ts":  # generated from the docstrings of routes
            text = re.sub(r"/\*.*?\*/|^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
            yield from (re.sub(r"\$\{[^}]*\}", "", one) for one in STRING.findall(text) if " " in one)
            yield from ("".join(found) for found in MARKUP.findall(text))


def texts_of_docs() -> Iterator[str]:
    pages = (path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts)
    for path in (ROOT / "README.md", *pages):
        yield re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@cache
def texts(area: str) -> str:
    read = {"src": texts_of_python, "web": texts_of_web, "docs": texts_of_docs}[area]
    return "\n".join(" ".join(text.split()) for text in read())


def count(word: str, area: str) -> int:
    return len(re.findall(rf"(?<![\w/-]){re.escape(word)}(?![\w/-])", texts(area), re.IGNORECASE))


@pytest.mark.parametrize("area", ["src", "web", "docs"])
def test_no_word_to_avoid_is_used_more_often_than_before(area: str) -> None:
    found = {word: count(word, area) for word in words_to_avoid()}
    allowed = ALLOWED[area]
    assert not {word: (number, allowed.get(word, 0)) for word, number in found.items() if number > allowed.get(word, 0)}


def test_the_list_of_words_is_read() -> None:
    assert {"rule", "whoever", "told", "by itself"} <= set(words_to_avoid())
    assert {word for area in ALLOWED.values() for word in area} <= set(words_to_avoid())


def test_each_area_is_read() -> None:
    assert "there is no tool" in texts("src") and "No pending approvals" in texts("web") and "Executor" in texts("docs")
