"""What storage promises when two write at once, whatever the database behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.connections.oauth.sealing import grant_context, seal
from executor.connections.oauth.sealing import reseal as reseal_others
from executor.errors import Conflict, InternalError
from executor.execution.journal.journal import latest_decisions
from executor.execution.policies.always import Always, add_policy
from executor.execution.policies.approval_defaults import change_approval_defaults
from executor.execution.policies.trusted_hints import Hints, write_decision
from executor.identity import members as membership
from executor.identity import workspaces as places
from executor.model.credentials import Connection as Credential
from executor.model.credentials import Secret
from executor.model.execution import Failure, Limits
from executor.model.identity.actor import Account, Actor
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Binding
from executor.model.packed import ToolRow
from executor.model.policy import Decision, Policy
from executor.model.source import Source
from executor.model.webhook import Webhook
from executor.network.client import Egress
from executor.secrets import rotation
from executor.secrets.master import FileKeeper
from executor.secrets.master_keys import KeptKeys
from executor.secrets.rotation import context
from executor.secrets.sealing import Sealed, Sealing
from executor.sources.lifecycle import persistence
from executor.storage.catalog import policies, sources, tool_versions, tools
from executor.storage.credentials import connections, secrets
from executor.storage.credentials.connections import Grant
from executor.storage.database import Database
from executor.storage.executions import calls, executions, interactions, permits
from executor.storage.feed import Feed
from executor.storage.identity import external_subjects, members, tenancy, workspaces
from executor.storage.identity.tenancy import Tenancy
from executor.storage.rows import dump, read_fields
from executor.storage.tables.access import secrets as secrets_table
from executor.storage.tables.core import listings
from executor.storage.tables.core import tools as tools_table
from executor.storage.webhooks import webhooks
from executor.webhooks.credentials import Private, unseal, with_private
from executor.webhooks.credentials import reseal as reseal_webhooks
from executor.webhooks.webhooks import Change, Webhooks
from tests.storage.test_contract import a_call, an_execution, new_interaction
from tests.support.interleaving import interleave


@pytest.fixture
def sealing(tmp_path: Path) -> Sealing:
    return Sealing(KeptKeys(FileKeeper(tmp_path)))


async def test_an_answer_to_a_call_that_is_not_there_fails(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    for write in (calls.start, calls.answer):
        with pytest.raises(InternalError, match="call 3"):
            await database.write(lambda c, write=write: write(c, a_call(execution, 3)))  # type: ignore[misc]


async def test_a_second_answer_fails_and_the_first_one_stays(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    call = a_call(execution, 1)
    first = replace(call, state="succeeded", result="1", done_seq=1, done_ms=1)
    await database.write(lambda c: calls.insert(c, [call]))
    await database.write(lambda c: calls.answer(c, first))
    with pytest.raises(InternalError):
        await database.write(lambda c: calls.answer(c, replace(first, result="2", done_seq=2)))
    [kept] = await database.read(lambda c: calls.of_execution(c, local.workspace.id, execution.id))
    assert kept.result == "1"


async def test_the_latest_interaction_is_the_last_one_whatever_the_clock_says(
    database: Database, local: Tenancy
) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    first = new_interaction(execution, 1, status="superseded")
    later = new_interaction(execution, 1, created_at=first.created_at - 90_000)
    for one in (first, later):
        await database.write(lambda c, one=one: interactions.insert(c, one))  # type: ignore[misc]
    found = await database.read(lambda c: interactions.of_execution(c, execution.id))
    assert latest_decisions(found)[1].id == later.id


def test_what_another_version_stored_can_still_be_read() -> None:
    assert read_fields(Limits, {"cpu_ms": 1, "later": 2}) == Limits(cpu_ms=1)
    assert read_fields(Failure, {"code": "x", "extra": []}) == Failure("x", "")
    known = read_fields(Binding, {"path": "a.b", "region": "eu"})
    assert known == Binding("", "", 0, "a.b", "", "", "", 0)


async def test_executions_and_interactions_of_another_version_can_still_be_read(
    database: Database, local: Tenancy
) -> None:
    execution = an_execution(local)
    asked = new_interaction(execution, 1)

    def write(c: Connection) -> None:
        executions.insert(c, execution)
        interactions.insert(c, asked)
        c.execute(sa.text("UPDATE executions SET limits = :v"), {"v": dump({"cpu_ms": 5, "gpu_ms": 6})})
        c.execute(sa.text("UPDATE executions SET failure = :v"), {"v": dump({"code": "c", "message": "m", "at": 1})})
        c.execute(sa.text("UPDATE interactions SET binding = :v"), {"v": dump({"path": "shop.x", "tenant": "t"})})

    await database.write(write)
    found = await database.read(lambda c: executions.get(c, local.workspace.id, execution.id))
    assert found is not None
    assert (found.limits, found.failure) == (Limits(cpu_ms=5), Failure("c", "m"))
    [kept] = await database.read(lambda c: interactions.of_execution(c, execution.id))
    assert kept.binding.path == "shop.x"


async def test_a_source_that_changed_while_it_was_read_is_not_overwritten(database: Database, local: Tenancy) -> None:
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {"location": "https://a.example"})
    await database.write(lambda c: sources.insert(c, source))
    edited = replace(source, name="Renamed")
    with interleave(database, lambda c: sources.edit(c, edited, ["name"])), pytest.raises(Conflict, match="changed by"):
        await database.write(lambda c: sources.replace(c, replace(source, tool_count=3)))
    assert await database.write(lambda c: sources.replace(c, replace(source, id="src_gone"))) is False
    await database.write(lambda c: sources.edit(c, edited, ["name"]))
    with pytest.raises(Conflict):
        await database.write(lambda c: sources.rewrite(c, source))
    kept = await database.read(lambda c: sources.get(c, local.workspace.id, "shop"))
    assert kept is not None
    assert (kept.name, kept.tool_count, kept.revision) == ("Renamed", 0, 1)


async def test_rotating_keys_keeps_a_value_that_was_replaced_meanwhile(
    database: Database, local: Tenancy, sealing: Sealing
) -> None:
    secret = Secret(new_id("sec"), local.workspace.id, "token", "store", "", "", 1, 1)
    bound = context(local.workspace.id, secret.id)

    def put(c: Connection) -> None:
        sealed = sealing.seal(c, b"old", bound)
        secrets.insert(c, secret, sealed.key_id, sealed.data)

    def replace_it(c: Connection) -> None:
        sealed = sealing.seal(c, b"new", bound)
        secrets.replace_value(c, secret.id, now_ms(), sealed.key_id, sealed.data, "")

    await database.write(put)
    with interleave(database, replace_it, before="secrets"):
        assert await database.write(lambda c: rotation.rotate(c, sealing)) == 0
    row = await database.read(lambda c: c.execute(sa.select(secrets_table)).one())
    value = await database.read(lambda c: sealing.unseal(c, Sealed(row.key_id, row.sealed), bound))
    assert value == b"new"


async def test_rotating_keys_keeps_tokens_that_were_refreshed_meanwhile(
    database: Database, local: Tenancy, sealing: Sealing
) -> None:
    workspace = local.workspace.id
    source = Source(new_id("src"), workspace, "openapi", "shop", "Shop", {})
    one = Credential(new_id("conn"), workspace, source.id, "alice", "oauth2", "https://a.example")
    bound = grant_context(workspace, one.id)

    def grant(c: Connection, token: str) -> Grant:
        sealed = seal(c, sealing, {"access_token": token}, bound)
        return Grant(one.id, workspace, 1, sealed.key_id, sealed.data, (), None)

    def put(c: Connection) -> None:
        sources.insert(c, source)
        connections.insert(c, one)
        connections.store_grant(c, grant(c, "old"))

    await database.write(put)
    with interleave(database, lambda c: connections.store_grant(c, grant(c, "new")), before="grants"):
        await database.write(lambda c: reseal_others(c, sealing))
    kept = await database.read(lambda c: connections.grant(c, one.id))
    assert kept is not None
    data = await database.read(lambda c: sealing.unseal(c, Sealed(kept.key_id, kept.sealed), bound))
    assert b"new" in data


async def test_rotating_keys_keeps_secrets_of_webhooks_that_were_rotated_meanwhile(
    database: Database, local: Tenancy, sealing: Sealing
) -> None:
    address, events = "https://a.example", ("interaction.*",)
    webhook = Webhook(
        new_id("wh"), local.workspace.id, "ops", "standard", address, events, local.operator.id, 1, "", b""
    )

    def put(c: Connection) -> None:
        webhooks.insert(c, with_private(c, sealing, webhook, Private(address, "old")))

    def rotate(c: Connection) -> None:
        webhooks.change(c, with_private(c, sealing, webhook, Private(address, "new")))

    await database.write(put)
    with interleave(database, rotate, before="webhooks"):
        await database.write(lambda c: reseal_webhooks(c, sealing))
    kept = await database.read(lambda c: webhooks.by_id(c, webhook.id))
    assert kept is not None
    assert (await database.read(lambda c: unseal(c, sealing, kept))).secret == "new"


async def test_an_edit_of_a_webhook_keeps_how_far_it_was_filled_meanwhile(
    database: Database, local: Tenancy, sealing: Sealing
) -> None:
    """Else everything since then would be sent twice."""
    address, by = "https://a.example", local.operator
    webhook = Webhook(
        new_id("wh"), local.workspace.id, "ops", "standard", address, ("interaction.*",), by.id, 1, "", b""
    )
    await database.write(lambda c: webhooks.insert(c, with_private(c, sealing, webhook, Private(address, "old"))))
    edited = Webhooks(database, Feed(database), sealing, Egress(), lambda: address)
    for change in (lambda: edited.change(by, webhook.id, Change(name="other")), lambda: edited.rotate(by, webhook.id)):
        await database.write(lambda c: webhooks.update(c, webhook.id, position=0))
        with interleave(database, lambda c: webhooks.update(c, webhook.id, position=7)):
            await change()
        kept = await database.read(lambda c: webhooks.by_id(c, webhook.id))
        assert kept is not None and kept.position == 7
    await edited.close()


def a_policy(local: Tenancy, pattern: str) -> Policy:
    return Policy("", "workspace", local.workspace.id, 0, pattern, "allow")


async def test_policies_that_two_people_add_at_once_have_different_places(database: Database, local: Tenancy) -> None:
    workspace, by = local.workspace.id, local.operator
    other = await database.write(lambda c: policies.add(c, workspace, a_policy(local, "shop.a"), by=by))

    def add_first(c: Connection) -> None:
        policies.add(c, workspace, a_policy(local, "shop.b"), 0, by=by)

    for job in (
        lambda c: policies.add(c, workspace, a_policy(local, "shop.c"), 0, by=by),
        lambda c: policies.move(c, workspace, other, 1, by=by),
        lambda c: policies.remove(c, workspace, other, by=by),
    ):
        with interleave(database, add_first):
            await database.write(job)
        found = await database.read(lambda c: policies.listing(c, workspace))
        assert [policy.position for policy in found] == list(range(len(found)))
    assert len(found) == 4


async def test_always_compares_the_revision_after_it_has_the_lock(database: Database, local: Tenancy) -> None:
    workspace, by = local.workspace.id, local.operator
    revision = await database.read(lambda c: policies.revision(c, workspace))
    always = Always(a_policy(local, "shop.a"), None, revision, Decision("allow", "", ""))

    def add_deny(c: Connection) -> None:
        policies.add(c, workspace, replace(a_policy(local, "shop.**"), action="deny"), by=by)

    with interleave(database, add_deny), pytest.raises(Conflict, match="policies changed"):
        await database.write(lambda c: add_policy(c, workspace, always, by=by))


async def test_two_owners_cannot_remove_each_other(database: Database, local: Tenancy) -> None:
    def join(c: Connection) -> tuple[str, list[Actor]]:
        organization = workspaces.create_organization(c, "team")
        place = workspaces.create(c, organization.id, "default")
        both = []
        for name in ("Ada", "Bob"):
            account = members.add_account(c, name)
            members.add(c, organization.id, account.id, "owner")
            actor = tenancy.human(c, place.id, account.id)
            assert actor is not None
            both.append(actor)
        return organization.id, both

    organization_id, (ada, bob) = await database.write(join)

    def remove_ada(c: Connection) -> None:
        members.remove(c, organization_id, ada.account_id)

    with interleave(database, remove_ada), pytest.raises(Conflict, match="last owner"):
        await membership.remove(database, local, ada, bob.account_id)
    assert await database.read(lambda c: members.owners(c, organization_id)) == 2  # both are undone together


async def test_the_first_two_requests_of_a_subject_make_one_account_and_one_agent(
    database: Database, local: Tenancy
) -> None:
    issuer, workspace = "https://id.example", local.workspace.id

    def add_account(c: Connection) -> Account:
        return external_subjects.add_account(c, issuer, "ada", "Ada", "")

    def add_agent(c: Connection) -> Actor:
        return external_subjects.add_agent(c, workspace, issuer, "bot", "Bot")

    for add, table in ((add_account, "accounts"), (add_agent, "actors")):
        with interleave(database, add, before=table):
            made = await database.write(add)
        again = await database.write(add)
        assert (made.id, made.name) == (again.id, again.name)


async def test_the_first_two_requests_of_a_member_make_one_actor(database: Database, local: Tenancy) -> None:
    def join(c: Connection) -> str:
        account = members.add_account(c, "Ada")
        members.add(c, local.organization.id, account.id, "member")
        return account.id

    account_id = await database.write(join)

    def come(c: Connection) -> Actor | None:
        return tenancy.human(c, local.workspace.id, account_id)

    with interleave(database, come, before="actors"):
        await database.write(come)
    assert len(await database.read(lambda c: members.actors_of(c, local.workspace.id, account_id))) == 1


async def test_two_workspaces_of_one_name_are_refused(database: Database, local: Tenancy) -> None:
    def create(c: Connection) -> None:
        workspaces.create(c, local.organization.id, "team")

    with interleave(database, create), pytest.raises(Conflict, match="already exists"):
        await places.create(database, local.operator, "team")
    await places.create(database, local.operator, "team")
    with pytest.raises(sa.exc.IntegrityError):
        await database.write(create)


async def test_a_permit_and_a_listing_take_the_place_of_the_one_before(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    asked = new_interaction(execution, 1)
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {})

    def prepare(c: Connection) -> None:
        executions.insert(c, execution)
        interactions.insert(c, asked)
        sources.insert(c, source)

    await database.write(prepare)
    with interleave(database, lambda c: permits.add(c, asked), before="INSERT INTO permits"):
        await database.write(lambda c: permits.add(c, asked))
    with interleave(database, lambda c: tools.show(c, source, 1), before="INSERT INTO listings"):
        await database.write(lambda c: tools.show(c, source, 2))
    assert len((await database.read(lambda c: permits.of_execution(c, execution.id))).permits) == 1
    assert await database.read(lambda c: c.execute(sa.select(listings.c.generation)).scalars().all()) == [2]


async def test_two_readings_in_the_same_moment_have_generations_of_their_own(
    database: Database, local: Tenancy, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {})
    row = ToolRow("shop.a", "", "read", "[]", False, False, "{}", None, "{}", "digest", "{}")
    monkeypatch.setattr(tools, "now_ms", lambda: 1_000)
    made = [await database.write(lambda c: tools.begin_generation(c, source, [row])) for _ in range(2)]
    assert made == [1_000, 1_001]


async def test_two_processes_that_read_a_source_at_once_have_generations_of_their_own(
    database: Database, local: Tenancy, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {})
    await database.write(lambda c: sources.insert(c, source))
    rows = [ToolRow(f"shop.{name}", "", "read", "[]", False, False, "{}", None, "{}", "digest", "{}") for name in "ab"]
    monkeypatch.setattr(tools, "now_ms", lambda: 1_000)
    with interleave(database, lambda c: tools.begin_generation(c, source, rows[:1])):
        mine = await database.write(lambda c: tools.begin_generation(c, source, rows[1:]))
    found = await database.read(lambda c: c.execute(sa.select(tools_table.c.path, tools_table.c.generation)).all())
    assert sorted(found) == [("shop.a", 1_000), ("shop.b", 1_001)]
    assert mine == 1_001


async def test_a_reading_without_tools_shows_none_of_another_one(
    database: Database, local: Tenancy, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {})
    await database.write(lambda c: sources.insert(c, source))
    row = ToolRow("shop.a", "", "read", "[]", False, False, "{}", None, "{}", "digest", "{}")
    monkeypatch.setattr(tools, "now_ms", lambda: 1_000)
    empty = await database.write(lambda c: tools.begin_generation(c, source, []))
    await database.write(lambda c: tools.begin_generation(c, source, [row]))
    await database.write(lambda c: tools.show(c, source, empty))
    assert await database.read(lambda c: tools.count(c, local.workspace.id)) == 0


async def test_two_who_trust_the_hints_of_a_server_at_once_leave_one_policy(database: Database, local: Tenancy) -> None:
    workspace, by = local.workspace.id, local.operator
    source = Source(new_id("src"), workspace, "mcp", "notes", "Notes", {"location": "https://a.example"})
    binding = dump({"annotations": {"readOnlyHint": True}})
    row = ToolRow("notes.a", "", "write", "[]", False, False, "{}", None, binding, "digest", "{}")

    def prepare(c: Connection) -> None:
        sources.insert(c, source)
        tool_versions.add_tools(c, workspace, [row])
        tools.show(c, source, tools.begin_generation(c, source, [row]))

    def trust(c: Connection) -> Hints:
        return write_decision(c, source, "where", "trust", None, by=by)

    await database.write(prepare)
    with interleave(database, trust):
        assert (await database.write(trust)).trusted == ("notes.a",)
    assert len(await database.read(lambda c: policies.listing(c, workspace))) == 1


async def test_two_who_change_defaults_of_a_source_at_once_keep_both_changes(
    database: Database, local: Tenancy
) -> None:
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {})
    await database.write(lambda c: sources.insert(c, source))

    def deny_writes(c: Connection) -> None:
        change_approval_defaults(c, source, {"write": "deny"}, by=local.operator)

    with interleave(database, deny_writes):
        await database.write(lambda c: change_approval_defaults(c, source, {"destructive": "deny"}, by=local.operator))
    kept = await database.read(lambda c: policies.approval_defaults(c, source))
    assert kept == {"write": "deny", "destructive": "deny"}


async def test_only_what_no_one_can_be_writing_now_is_swept_at_start(
    database: Database, local: Tenancy, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(new_id("src"), local.workspace.id, "openapi", "shop", "Shop", {})
    row = ToolRow("shop.a", "", "read", "[]", False, False, "{}", None, "{}", "digest", "{}")
    with monkeypatch.context() as patch:
        patch.setattr(tools, "now_ms", lambda: 1_000)
        for _ in range(2):
            await database.write(lambda c: tools.begin_generation(c, source, [row]))
    await persistence.sweep_before(database, 1_001)
    assert await database.read(lambda c: c.execute(sa.select(tools_table.c.generation)).scalars().all()) == [1_001]
