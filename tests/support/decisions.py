"""Many decisions at once about the same interactions, from several replicas, while these expire."""

from __future__ import annotations

import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.cluster import Cluster
from tests.support.conditions import wait_for
from tests.support.daemon import Refused

CODE = "try { await tools.ledger.transfers.transfer({key: '%s'}); return 'sent' } catch (error) { return error.code }"
PENDING = "SELECT execution_id, id FROM interactions WHERE status = 'pending'"
EXPIRE = (
    "UPDATE interactions SET expires_at = (extract(epoch FROM clock_timestamp()) * 1000 + random() * {})::bigint"
    " WHERE status = 'pending' AND random() < 0.5"
)
SETTLED = (
    "SELECT data::json ->> 'id', type FROM events WHERE type ~ '^interaction.(approved|denied|expired)$' ORDER BY id"
)
ENDED = "SELECT id, result FROM executions WHERE status = 'completed'"
UNFINISHED = "SELECT 1 FROM executions WHERE status NOT IN ('completed', 'failed', 'cancelled') LIMIT 1"
PERMITTED = "SELECT DISTINCT execution_id FROM permits"
RESULTS = {"interaction.approved": "sent", "interaction.denied": "denied", "interaction.expired": "approval_expired"}


def contest(cluster: Cluster, count: int, effects: Path, chance: random.Random) -> dict[str, int]:
    """Approved, denied and expired at once, each on another replica; how often each came first.

    Every interaction has one outcome: in its events, for those who decided, in its execution's result and permits, and
    for the called service. About half of them expire meanwhile. An approval that expires before it is used is asked for
    again; that one is denied.
    """
    parked = park(cluster, count)
    cluster.query(EXPIRE.format(count * 10))
    asks = [(asked, number) for asked in parked.values() for number in range(len(cluster.apis))]
    with ThreadPoolExecutor(16) as threads:
        accepted = list(threads.map(lambda one: decide(cluster, one[0], one[1], chance.random() < 0.5), asks))
    again = set[str]()

    def has_ended() -> bool:
        for execution, asked in cluster.query(PENDING):
            if asked != parked[execution]:
                again.add(execution)
                decide(cluster, asked, 0, False)
        return not cluster.query(UNFINISHED)

    wait_for(has_ended, "everything ended", seconds=240 + count)
    settled = [one for one in cluster.query(SETTLED) if one[0] in set(parked.values())]
    outcome = dict(settled)
    assert sorted(asked for asked, _ in settled) == sorted(parked.values()), "each was settled once"
    answered = sorted(one for one in accepted if one is not None)
    assert answered == sorted(one for one in outcome.items() if one[1] != "interaction.expired")
    expected = {one: "denied" if one in again else RESULTS[outcome[asked]] for one, asked in parked.items()}
    assert {one: json.loads(result) for one, result in cluster.query(ENDED) if one in parked} == expected
    approved = {one for one, asked in parked.items() if outcome[asked] == "interaction.approved"}
    assert {row[0] for row in cluster.query(PERMITTED)} <= approved
    sent = [json.loads(line)[1] for line in effects.read_text().splitlines()]
    assert len(sent) == len(set(sent)) == len(approved - again)
    return {**Counter(outcome.values()), "asked again": len(again)}


def park(cluster: Cluster, count: int) -> dict[str, str]:
    """Executions that wait for approval, and what each waits for."""

    def submit(number: int) -> None:
        cluster.apis[number % len(cluster.apis)].post("/v1/executions", {"code": CODE % f"d{number}", "wait": 0})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(submit, range(count)))
    wait_for(lambda: len(cluster.query(PENDING)) == count, "all wait for approval", seconds=240 + count)
    return dict(cluster.query(PENDING))


def decide(cluster: Cluster, asked: str, replica: int, approves: bool) -> tuple[str, str] | None:
    """The interaction and its event if this one came first."""
    verb, body = ("approve", {"scope": "execution"}) if approves else ("deny", {})
    try:
        cluster.apis[replica].post(f"/v1/interactions/{asked}/{verb}", body)
    except Refused as error:
        assert error.status == 409, error
        return None
    return asked, f"interaction.{'approved' if approves else 'denied'}"
