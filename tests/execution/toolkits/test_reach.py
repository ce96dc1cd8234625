"""What a toolkit reaches, counted and named, also among very many tools."""

from __future__ import annotations

import pytest

from executor.errors import InvalidRequest
from executor.execution.toolkits.reach import MOST_EXPOSED, Head, check_exposed, reach_of
from executor.model.policy import Policy
from executor.model.toolkit import Toolkit

MANY: list[Head] = [(f"many.t.t{number}", "read", "src") for number in range(10_000)]


def toolkit(patterns: tuple[str, ...], passed: tuple[str, ...] = (), denied: tuple[str, ...] = ()) -> Toolkit:
    policies = tuple(Policy("", "toolkit", "", 0, pattern, "deny") for pattern in denied)
    return Toolkit("tkt", "ws", "kit", "kit", "", patterns, policies, passed)


def test_ten_thousand_tools_are_in_it_and_not_passed_through() -> None:
    reach = reach_of(toolkit(("many.**",), ("many.**",)), MANY)
    assert (len(reach.tools), reach.passed, len(reach.exposed_tools)) == (10_000, 10_000, MOST_EXPOSED)
    with pytest.raises(InvalidRequest, match="10,000 tools"):
        check_exposed(reach)


def test_only_what_is_inside_is_passed_through() -> None:
    one = toolkit(("many.t.t1", "many.t.t2"), ("**",), denied=("many.t.t2",))
    reach = reach_of(one, MANY)
    assert [(tool.path, tool.name) for tool in reach.tools] == [("many.t.t1", "many_t_t1")] and reach.passed == 1


def test_patterns_that_match_nothing_are_named() -> None:
    one = toolkit(("many.t.t1", "other.**"), ("many.x.*",), denied=("many.t.t9", "many.t.none"))
    assert reach_of(one, MANY).unmatched == ("other.**", "many.t.none", "many.x.*")


def test_names_do_not_depend_on_the_order_of_tools() -> None:
    heads: list[Head] = [("a.b_c", "read", "s"), ("a_b.c", "read", "s"), ("a.z", "read", "s")]
    one = toolkit(("**",), ("**",))
    assert reach_of(one, heads) == reach_of(one, heads[::-1])
