"""`scripts/eval-agents` end to end, with the services that need no published document."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agents_eval import python_tasks, report, typescript_tasks
from agents_eval.agent import offer_of
from agents_eval.checkout import connect
from agents_eval.evaluation import Row, run_tasks
from agents_eval.everything import Everything
from agents_eval.shop import Shop
from agents_eval.tally import tokens
from agents_eval.upstream import SERVICES, running_upstream
from benchmarks.wire import Http, Mcp

from tests.surfaces.api.daemon_server import running_daemon

HERE = {Shop, Everything}


@pytest.fixture(scope="module")
def offer_and_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[Row]]]:
    tasks = [one for one in (*typescript_tasks.TASKS, *python_tasks.TASKS) if HERE.issuperset(one.services)]
    with running_upstream({}) as upstream, running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        operator = Http(daemon.url, {"Authorization": f"Bearer {daemon.tokens.operator}"})
        client = Mcp(daemon.url, {"Authorization": f"Bearer {daemon.tokens.agent}"})
        try:
            connect(operator, upstream, [one for one in SERVICES if one in HERE])
            yield offer_of(client), run_tasks(tasks, client, operator, upstream, say=lambda text: None)
        finally:
            operator.close()
            client.close()


def test_tasks_of_both_languages_are_solved_without_an_error(offer_and_rows: tuple[str, list[Row]]) -> None:
    _, rows = offer_and_rows
    assert {row.task.language for row in rows} == {"typescript", "python"}
    for row in rows:
        said = f"{row.task.name}: {row.remark}\n" + "\n".join(row.transcript)
        assert row.solved, said
        assert (row.tally.executions, row.tally.errors) == (2, 0), said
        assert row.tally.approvals >= 3, said


def test_the_report_has_every_task_a_total_and_a_comparison(offer_and_rows: tuple[str, list[Row]]) -> None:
    offer, rows = offer_and_rows
    found = report.as_json(rows, tokens(offer))
    assert [one["task"] for one in found["tasks"]] == ["T9", "T10", "P6"]
    for key in ("executions", "errors", "output"):
        assert found["total"][key] == sum(one[key] for one in found["tasks"])
    spent = [found["total"][kind] for kind in ("discovery", "descriptions", "pauses", "failures", "results")]
    assert sum(spent) == found["total"]["output"]
    assert report.table(found).count("\n") == len(rows) + 2
    assert "100%" in report.comparison(found, found)
    assert ">>> python" in report.transcript(rows)
