"""Names for MCP clients: always fit, never ambiguous, and the same tool keeps its name whatever else is there."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from executor.execution.toolkits.tool_names import MOST_CHARACTERS, name_tools

SEGMENT = st.text("ab_-$", min_size=1, max_size=40)
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=4).map(".".join), max_size=30)


@given(PATHS)
def test_every_name_is_fit_and_means_one_tool(paths: list[str]) -> None:
    named = name_tools(paths)
    assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{1,{MOST_CHARACTERS}}}", name) for name in named)
    assert len({name.lower() for name in named}) == len(named)
    assert sorted(named.values()) == sorted(set(paths))


def test_paths_that_look_alike_get_different_names() -> None:
    named = name_tools(["a.b_c", "a_b.c", "a.b.c", "x.y"])
    assert "x_y" in named and "a_b_c" not in named and len(named) == 4


def test_long_paths_that_begin_alike_get_different_names() -> None:
    begin = "service." + "very_" * 20
    first, second = f"{begin}.create", f"{begin}.delete"
    named = {path: name for name, path in name_tools([first, second]).items()}
    assert named[first] != named[second] and max(map(len, named.values())) <= MOST_CHARACTERS
    assert name_tools([first]) == {named[first]: first}


def test_no_tool_poses_as_one_of_executors() -> None:
    assert not {"execute", "resume", "Execute"} & set(name_tools(["execute", "Execute", "resume"]))
