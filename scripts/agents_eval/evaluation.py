"""Runs the tasks against one checkout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.wire import Http, Mcp

from agents_eval.agent import Agent, Unsolved, offer_of, suggested_limit
from agents_eval.tally import Tally
from agents_eval.task import Task
from agents_eval.upstream import Upstream, World

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    task: Task
    solved: bool
    remark: str
    tally: Tally
    transcript: Sequence[str]


def run_tasks(
    tasks: Sequence[Task], client: Mcp, operator: Http, upstream: Upstream, say: Say, limit: int | None = None
) -> list[Row]:
    """`limit` is how many tools an agent asks for; unless given, as many as the example shows that it was given."""
    offer = offer_of(client)
    rows = []
    for task in tasks:
        upstream.world = World()
        agent = Agent(client, operator, task.language, offer, limit or suggested_limit(offer))
        try:
            solved, remark = task.work(agent, upstream.world), ""
        except Unsolved as error:
            solved, remark = False, str(error)
        say(f"{task.name}: {'solved' if solved else f'NOT solved: {remark}'}, {agent.tally.total} tokens")
        rows.append(Row(task, solved, remark, agent.tally, agent.transcript))
    return rows
