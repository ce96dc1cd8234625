"""`error.code` becomes `error_of(error).code`, in code and in f-strings, and nowhere else."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.runtime.python.tool_error_fields import rewrite

HEAD = "try:\n    pass\nexcept ToolError as e:\n    "


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("x = e.code", "x = error_of(e).code"),
        ("x = [e.code, e.status, e.details['a']]", None),
        ("x = f'{e.code} {e.hint!r:>10}'", "x = f'{error_of(e).code} {error_of(e).hint!r:>10}'"),
        ('x = f"""\n{e.message}\n"""', 'x = f"""\n{error_of(e).message}\n"""'),
        ("x = 'e.code'", "x = 'e.code'"),
        ("x = '''\ne.code\n'''", "x = '''\ne.code\n'''"),
        ("x = r'\\'  # e.code", "x = r'\\'  # e.code"),
        ("x = 1  # e.code", "x = 1  # e.code"),
        ("x = 'it\\'s e.code'", "x = 'it\\'s e.code'"),
        ("x = f'{{e.code}}'", "x = f'{{e.code}}'"),
        ('x = f\'{ {"a": e.code}["a"] }\'', 'x = f\'{ {"a": error_of(e).code}["a"] }\''),
        ("x = self.e.code", "x = self.e.code"),
        ("x = the.code", "x = the.code"),
        ("x = e.codes", "x = e.codes"),
        ("x = e.args", "x = e.args"),
    ],
)
def test_only_fields_of_caught_errors_are_rewritten(written: str, becomes: str | None) -> None:
    if becomes is None:
        becomes = "x = [error_of(e).code, error_of(e).status, error_of(e).details['a']]"
    assert rewrite(HEAD + written).code == HEAD + becomes


def test_code_that_catches_nothing_stays_as_it_is() -> None:
    assert rewrite("e.code").code == "e.code"


def test_columns_are_those_of_the_user() -> None:
    code = HEAD + "x = [e.code, e.hint, 1 / 0]"
    rewritten = rewrite(code)
    line = rewritten.code.splitlines()[3]
    assert rewritten.column(4, line.index("1 / 0") + 1) == code.splitlines()[3].index("1 / 0") + 1
    assert rewritten.column(4, line.index("x =") + 1) == code.splitlines()[3].index("x =") + 1
    assert rewritten.column(4, line.index(".hint") + 1) == code.splitlines()[3].index(".hint") + 1
    assert rewritten.column(1, 1) == 1


def test_text_that_quotes_the_code_is_shown_as_it_was_written() -> None:
    rewritten = rewrite(HEAD + "x = e.code")
    assert rewritten.restore_text("    x = error_of(e).code") == "    x = e.code"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="e.code f'\"{}#\\\n[]ras:", max_size=60))
def test_whatever_is_written_keeps_its_lines_and_undone_is_the_same(text: str) -> None:
    code = HEAD + text
    rewritten = rewrite(code)
    assert rewritten.code.count("\n") == code.count("\n")
    assert rewritten.code.replace("error_of(e)", "e") == code


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab e.code+'\"{}", max_size=30))
def test_what_python_can_parse_it_can_parse_rewritten(text: str) -> None:
    code = HEAD + "x = (" + text + ")"
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return
    ast.parse(rewrite(code).code)


def test_braces_nested_beyond_measure_are_left_alone() -> None:
    code = HEAD + "x = " + "f'{" * 5000
    assert rewrite(code).code.count("\n") == code.count("\n")
