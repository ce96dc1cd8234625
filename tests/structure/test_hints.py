"""Hints that code may get say what to do in words of its own: never with options of the command line."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "executor"
# What runs while a program does, or while a source is connected for one.
REACHABLE = (
    "catalog",
    "checking",
    "connections",
    "execution",
    "network",
    "policy",
    "runtime",
    "schemas",
    "secrets",
    "sources",
)
# Shown by `executor config` to people, about members.
ALLOWED = {"execution/configuration/plan.py"}
_OPTION = re.compile(r"(?<![\w-])--[a-z]")


def literals(module: Path) -> list[str]:
    """Texts of sentences: an argument of a program that Executor starts has no blank in it."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    notes = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in found if " " in text and text not in notes]


@pytest.mark.parametrize("package", REACHABLE)
def test_no_text_that_code_may_get_names_an_option_of_the_command_line(package: str) -> None:
    found = {
        f"{module.relative_to(ROOT)}: {text}"
        for module in sorted((ROOT / package).rglob("*.py"))
        if str(module.relative_to(ROOT)) not in ALLOWED
        for text in literals(module)
        if _OPTION.search(text)
    }
    assert found == set()


def test_an_extra_is_never_installed_by_name_because_an_index_has_another_package_of_that_name() -> None:
    project = ROOT.parents[1]
    extras = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    by_name = re.compile(rf"executor\[({'|'.join(extras)})|pip install ['\"]?executor\b")
    texts = [*ROOT.rglob("*.py"), *(project / "docs").rglob("*.md"), *project.glob("*.md")]
    assert [str(file) for file in texts if by_name.search(file.read_text(encoding="utf-8"))] == []
    setups = re.compile(r"scripts/setup ([a-z]+)(?=['\"` ])")
    named = {name for file in texts for name in setups.findall(file.read_text(encoding="utf-8"))}
    assert named - {"dev"} <= set(extras) and named - {"dev"}
