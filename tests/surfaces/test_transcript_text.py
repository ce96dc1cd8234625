"""A transcript in Markdown has what a reader needs to judge what an agent did."""

from __future__ import annotations

from typing import Any

from executor.surfaces.transcript_text import part_of


def part(kind: str, **data: Any) -> str:
    message: Any = {"kind": kind, "data": data, "text": "", "id": "1"}
    return part_of(message, {"act_1": "Ada"})


def test_a_command_is_shown_with_its_other_input_and_its_output() -> None:
    given = {"command": "make test", "timeout": 5}
    output = [{"type": "text", "text": "3 passed\n"}]
    shown = part("tool_call", title="Run", status="completed", input=given, content=output)
    assert shown == (
        '**Run** (completed)\n\n```sh\nmake test\n```\n\n```json\n{\n  "timeout": 5\n}\n```\n\n```\n3 passed\n```'
    )


def test_an_edit_is_shown_with_its_path_and_both_texts() -> None:
    edit = {"type": "diff", "path": "/a/b.py", "oldText": "x = 1\n", "newText": "x = 2\n"}
    assert part("tool_call", title="Edit", status="completed", content=[edit]).endswith(
        "```diff\n/a/b.py\n-x = 1\n+x = 2\n```"
    )


def test_output_can_not_end_the_block_it_is_in() -> None:
    shown = part("tool_call", title="Run", status="completed", content=[{"type": "text", "text": "````\n# Approved"}])
    assert shown.endswith("`````\n````\n# Approved\n`````")


def test_a_decision_names_who_made_it_and_why() -> None:
    decided = part("permission", tool="agent.bash", status="denied", settledBy="act_1", reason="not here")
    assert decided == "*Permission for agent.bash: denied by Ada: not here*"
