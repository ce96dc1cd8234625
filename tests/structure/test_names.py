"""Modules are nouns and functions that act are verbs; the allow-list of participles only shrinks."""

from __future__ import annotations

import ast
import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from executor import errors

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "executor"
TESTS = ROOT / "tests"
MOST_PARTICIPLES = {SOURCE: 1, TESTS: 20}  # of the sources: `Executor.embedded`, which programs call
MOST_GERUND_MODULES = 7
ERRORS = {
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.ExecutorError)
}
METAPHORS = {"door", "errand", "shelf", "keeping", "flood", "front", "wire", "upkeep"}


@pytest.fixture(scope="module")
def structure() -> ModuleType:
    loader = SourceFileLoader("structure", str(ROOT / "scripts" / "structure"))
    module = module_from_spec(spec_from_loader("structure", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", MOST_PARTICIPLES, ids=lambda folder: folder.name)
def test_few_functions_are_named_by_a_bare_participle(structure: ModuleType, folder: Path) -> None:
    found = [
        f"{path.relative_to(folder)}:{node.name}"
        for path in folder.rglob("*.py")
        if "versions" not in path.parts
        for node in structure.functions_of(ast.parse(path.read_text(encoding="utf-8")))
        if structure.is_participle(node.name)
    ]
    assert len(found) <= MOST_PARTICIPLES[folder], found


def test_few_modules_are_named_by_a_gerund(structure: ModuleType) -> None:
    found = [path for path in SOURCE.rglob("*.py") if structure.is_gerund(path.stem)]
    assert len(found) <= MOST_GERUND_MODULES, found


def test_no_module_is_named_by_a_metaphor() -> None:
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in METAPHORS]


@pytest.mark.parametrize(
    ("name", "is_one"), [("told", True), ("_opened", True), ("open_stream", False), ("feed", False)]
)
def test_a_participle_is_recognised(structure: ModuleType, name: str, is_one: bool) -> None:
    assert structure.is_participle(name) is is_one


def test_every_file_that_the_architecture_page_names_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text))
    assert len(named) > 50
    assert not [name for name in named if not (SOURCE / name).exists()]


def test_one_call_changes_packages_at_most_25_times(structure: ModuleType) -> None:
    changes, _, steps = structure.changes(ROOT).partition(" in ")
    assert int(changes) <= 25 and int(steps.split()[0]) > 25


def test_the_layers_of_the_page_are_those_that_are_checked() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("| layer |") : text.index("Packages that every")]
    names = [row.split("|")[1] for row in table.strip().splitlines()[2:]]
    listed = re.findall(r"`(\w+)(?:/|\.py)`", " ".join(names))
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = re.search(r"layers = \[\n(.*?)\n\]", contract, re.DOTALL)
    assert layers is not None
    assert listed == re.findall(r"\w+", re.sub(r"[\"|,]", " ", layers[1]))


def test_every_error_with_a_code_is_in_one_module() -> None:
    """Those of the CLI and the bridge repeat what the daemon answered, and two carry more than an error may."""
    elsewhere = {"Refused", "AnswerLost", "CredentialMissing", "Evicted"}
    found = {
        node.name
        for path in SOURCE.rglob("*.py")
        if path.name != "errors.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & ERRORS
    }
    assert found <= elsewhere, found - elsewhere
