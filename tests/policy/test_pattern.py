from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import InvalidRequest
from executor.policy.pattern import matches, parse_pattern

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
paths = st.lists(names, min_size=1, max_size=5).map(".".join)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.b.c", "a.b.c", True),
        ("a.b.c", "a.b", False),
        ("a.b.c", "a.b.c.d", False),
        ("a.*.c", "a.x.c", True),
        ("a.*.c", "a.x.y.c", False),
        ("*.b", "x.b", True),
        ("*.b", "b", False),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", True),
        ("a.*", "a", False),
        ("a.*", "ab.c", False),
        ("a.**", "a.b.c.d", True),
        ("a.**", "a", False),
        ("**", "anything.at.all", True),
        ("*", "anything.at.all", True),
        ("A.b", "a.b", False),
    ],
)
def test_a_pattern_covers_exactly_the_paths_its_grammar_says(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["", ".", "a.", ".a", "a..b", "a.**.b", "a.b*", "a.%2e", "a b", "a.\uff42", "a\n"])
def test_a_malformed_pattern_is_refused_with_the_segment_in_the_message(pattern: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_pattern(pattern)


@given(paths)
def test_every_path_matches_itself_and_the_pattern_for_everything(path: str) -> None:
    assert matches(path, path)
    assert matches("**", path)


@given(paths, paths)
def test_a_subtree_pattern_covers_what_lies_below_and_not_its_root(root: str, rest: str) -> None:
    assert matches(f"{root}.**", f"{root}.{rest}")
    assert matches(f"{root}.*", f"{root}.{rest}")
    assert not matches(f"{root}.**", root)


@given(paths, paths)
def test_an_exact_pattern_covers_nothing_else(one: str, other: str) -> None:
    assert matches(one, other) is (one == other)
