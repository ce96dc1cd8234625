from __future__ import annotations

import pytest

from executor.errors import Conflict, InvalidRequest, NotFound, SecretUnavailable
from executor.storage.executions import events
from tests.secrets.conftest import SecretsHarness


async def test_rotating_replaces_the_value_and_removing_forgets_it(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "old", by=place.by)
    await place.secrets.rotate(place.workspace_id, "mail", "new", by=place.by)
    assert await place.secrets.value(place.workspace_id, "mail") == "new"
    await place.secrets.remove(place.workspace_id, "mail", by=place.by)
    with pytest.raises(SecretUnavailable):
        await place.secrets.value(place.workspace_id, "mail")


async def test_a_name_is_given_once_and_only_plain_names_are_taken(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    with pytest.raises(Conflict):
        await place.secrets.set(place.workspace_id, "mail", "other", by=place.by)
    for name in ("", "a b", "source:x", "../x", "x" * 101, "a\n"):
        with pytest.raises(InvalidRequest):
            await place.secrets.set(place.workspace_id, name, "value", by=place.by)


async def test_an_empty_oversized_or_unencodable_value_is_refused(place: SecretsHarness) -> None:
    for value in ("", "x" * 65_537, "\ud800abc"):
        with pytest.raises(InvalidRequest):
            await place.secrets.set(place.workspace_id, "mail", value, by=place.by)


async def test_only_variables_that_were_meant_for_it_are_read_from_the_environment(place: SecretsHarness) -> None:
    await place.secrets.set(
        place.workspace_id, "mail", by=place.by, provider="environment", reference="EXECUTOR_SECRET_MAIL"
    )
    assert await place.secrets.value(place.workspace_id, "mail") == "from-the-environment"
    for reference in ("AWS_SECRET", "PATH", "EXECUTOR_TOKEN", ""):
        with pytest.raises(InvalidRequest, match="may not be read"):
            await place.secrets.set(place.workspace_id, "aws", by=place.by, provider="environment", reference=reference)


async def test_another_workspace_does_not_see_it(place: SecretsHarness) -> None:
    secret = await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    for name in ("mail", secret.id):
        with pytest.raises(NotFound):
            await place.secrets.get("ws_other", name)
        with pytest.raises(SecretUnavailable):
            await place.secrets.value("ws_other", name)


async def test_what_executor_keeps_itself_is_neither_listed_nor_changed_by_name(place: SecretsHarness) -> None:
    kept = await place.database.write(
        lambda c: place.secrets.keep(c, place.workspace_id, "source:src_1", "value", place.by.id)
    )
    assert await place.secrets.listing(place.workspace_id) == []
    with pytest.raises(NotFound):
        await place.secrets.rotate(place.workspace_id, kept.id, "other", by=place.by)
    assert await place.secrets.value(place.workspace_id, kept.id) == "value"


async def test_every_act_is_an_event_that_names_who_did_it_and_never_the_value(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "canary-1", by=place.by)
    await place.secrets.rotate(place.workspace_id, "mail", "canary-2", by=place.by)
    await place.secrets.remove(place.workspace_id, "mail", by=place.by)
    found = await place.database.read(lambda c: events.after(c, place.workspace_id))
    mine = [event for event in found if event.type.startswith("secret.")]
    assert [event.type for event in mine] == ["secret.added", "secret.rotated", "secret.removed"]
    assert all(event.actor_id == place.by.id for event in mine) and "canary" not in str(mine)
