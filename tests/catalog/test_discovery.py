from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from executor.catalog import catalog
from executor.catalog.search.hints import absent
from executor.catalog.search.index import segment_files
from executor.catalog.search.index.entry import Entry
from executor.catalog.search.index.segment import build_segment
from executor.catalog.search.index.workspace_index import Indexes
from executor.errors import InvalidRequest, NotFound
from executor.model.language import Language
from executor.model.policy import Policy
from executor.policy.decide import Subject, decide
from executor.policy.visibility import Visibility, visibility_of
from tests.catalog.conftest import CatalogHarness
from tests.sources.openapi.documents import answers
from tests.support.conditions import until


def operation(name: str, tag: str = "things", summary: str = "") -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Thing"}
    return {"operationId": name, "tags": [tag], "summary": summary, "responses": answers(schema)}


async def connect_things(harness: CatalogHarness) -> None:
    parts = {"components": {"schemas": {"Thing": {"type": "object", "properties": {"id": {"type": "string"}}}}}}
    paths = {
        "/things/{id}": {
            "get": operation("getThing", summary="Get a thing. It has more to say."),
            "delete": operation("deleteThing", summary="Delete a thing"),
        },
        "/boxes": {"get": operation("listBoxes", "boxes", "List boxes")},
    }
    await harness.connect(paths, **parts)


def visibility(pattern: str, action: Any = "deny") -> Visibility:
    found = visibility_of(
        [Policy("p", "workspace", "w", 0, pattern, action), Policy("q", "workspace", "w", 1, "nothing", "deny")]
    )
    assert found is not None
    return found


async def test_a_search_answers_as_deep_as_asked(harness: CatalogHarness) -> None:
    await connect_things(harness)
    names = await harness.catalog.search(harness.workspace, "get thing", depth=0)
    assert names["bestPath"] == "things.things.getThing" and names["total"] >= 1
    assert set(names["items"][0]) == {"path", "description", "effect", "score", "matched"}
    assert names["items"][0]["description"] == "Get a thing."
    signatures = await harness.catalog.search(harness.workspace, "get thing")
    assert "Promise<Thing>" in signatures["items"][0]["signature"]
    schemas = await harness.catalog.search(harness.workspace, "get thing", depth=2)
    assert schemas["items"][0]["outputSchema"]["$defs"]["Thing"]["type"] == "object"


async def test_an_empty_query_shows_what_there_is(harness: CatalogHarness) -> None:
    await connect_things(harness)
    answer = await harness.catalog.search(harness.workspace, "  ", depth=0)
    assert answer["bestPath"] is None and answer["total"] == 3
    assert answer["groups"] == {"things": 3}
    below = await harness.catalog.search(harness.workspace, "", namespace="things", depth=0)
    assert below["groups"] == {"things.boxes": 1, "things.things": 2}
    deeper = await harness.catalog.search(harness.workspace, "", namespace="things.boxes", depth=0)
    assert [item["path"] for item in deeper["items"]] == ["things.boxes.listBoxes"]


async def test_filters_narrow_what_is_found(harness: CatalogHarness) -> None:
    await connect_things(harness)
    destructive = await harness.catalog.search(harness.workspace, "thing", effect="destructive", depth=0)
    assert [item["path"] for item in destructive["items"]] == ["things.things.deleteThing"]
    inside = await harness.catalog.search(harness.workspace, "get thing", namespace="things.boxes", depth=0)
    assert all(item["path"].startswith("things.boxes.") for item in inside["items"])
    (source,) = await harness.catalog.sources(harness.workspace)
    by_id = await harness.catalog.search(harness.workspace, "boxes", source=source.id, depth=0)
    assert by_id["bestPath"] == "things.boxes.listBoxes"


async def test_a_filter_that_means_nothing_is_refused(harness: CatalogHarness) -> None:
    await connect_things(harness)
    with pytest.raises(InvalidRequest, match="no effect 'eats'"):
        await harness.catalog.search(harness.workspace, "thing", effect="eats")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidRequest, match="does not belong to source"):
        await harness.catalog.search(harness.workspace, "thing", source="things", namespace="other.boxes")


async def test_an_unknown_namespace_or_source_is_said(harness: CatalogHarness) -> None:
    await connect_things(harness)
    answer = await harness.catalog.search(harness.workspace, "thing", namespace="thnigs")
    assert answer["items"] == [] and "did you mean things?" in answer["hint"]
    answer = await harness.catalog.search(harness.workspace, "thing", source="thnigs")
    assert answer["items"] == [] and "did you mean things?" in answer["hint"]


async def test_what_no_tool_has_is_said(harness: CatalogHarness) -> None:
    await connect_things(harness)
    answer = await harness.catalog.search(harness.workspace, "🙂")
    assert (answer["items"], answer["total"]) == ([], 0) and "app + verb + object" in answer["hint"]
    long = await harness.catalog.search(harness.workspace, "get thing " * 10_000, depth=0)
    assert long["items"] and "first 1000 characters" in long["hint"]


async def test_a_source_with_many_tools_is_indexed_before_anybody_searches(
    harness: CatalogHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    built = Indexes._build

    async def note_build(self: Indexes, one: Any) -> Any:
        made.append(one.namespace)
        return await built(self, one)

    monkeypatch.setattr(Indexes, "_build", note_build)
    monkeypatch.setattr(catalog, "MANY_TOOLS", 1)
    await connect_things(harness)
    await until(lambda: made)
    assert (await harness.catalog.search(harness.workspace, "get thing", depth=0))["items"]
    assert made == ["things"]


async def test_an_app_that_is_not_connected_is_said_and_one_that_is_or_a_common_word_is_not(
    harness: CatalogHarness,
) -> None:
    await connect_things(harness)
    answer = await harness.catalog.search(harness.workspace, "notion list boxes", depth=0)
    assert "`executor sources add notion`" in answer["hint"]
    assert "linear" in (await harness.catalog.search(harness.workspace, "get the thing from linear"))["hint"]
    for fine in ("get thing", "list every box", "list things"):
        assert "hint" not in await harness.catalog.search(harness.workspace, fine, depth=0)
    assert "not connected" not in (await harness.catalog.search(harness.workspace, "a linear list of things"))["hint"]
    for there in ("thing get by its id", "thnigs list boxes", "please get thing"):
        found = await harness.catalog.search(harness.workspace, there, depth=0)
        assert found["bestPath"] and "not connected" not in found.get("hint", ""), there
    for names in (["team_slack"], ["Slack Web API"], ["sl_ack"]):
        assert absent("slack post message", names) == ""
    assert absent("slack post message", ["github"]) == "slack"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("github create issue", "github is not connected; connected: store, things"),
        ("gmail send email", "gmail is not connected; connected: store, things"),
        ("send an email with gmail", "gmail is not connected; connected: store, things"),
        ("notion create page", "notion is not connected; connected: store, things"),
        ("acmecrm list boxes", "acmecrm is not connected; connected: store, things"),
        ("AcmeCRM create deal", "acmecrm is not connected; connected: store, things"),
        ("create invoice", "no match: search for"),
        ("google sheets append row", "no match: search for"),
        ("store create invoice", "no match: search for"),
        ("🙂", "no match: search for app + verb + object"),
    ],
)
async def test_nothing_is_the_best_where_nothing_fits_and_the_answer_begins_with_the_reason(
    harness: CatalogHarness, query: str, reason: str
) -> None:
    await connect_things(harness)
    await harness.connect({"/chairs": {"post": operation("createChair", "chairs")}}, namespace="store")
    for answer in (
        await harness.catalog.search(harness.workspace, query),
        await harness.catalog.search(harness.workspace, query, depth=None, brief=True, explain=False),
    ):
        assert next(iter(answer)) == "hint" and answer["hint"].startswith(reason)
        assert answer["bestPath"] is None
    assert not any("signature" in item for item in answer["items"])


async def test_an_app_is_connected_by_the_title_of_its_source_but_not_by_one_that_is_denied(
    harness: CatalogHarness,
) -> None:
    await harness.connect(
        {"/issues": {"post": operation("createIssue", "issues", "Create an issue")}},
        namespace="code",
        info={"title": "GitHub v3 REST API", "version": "1"},
    )
    found = await harness.catalog.search(harness.workspace, "github create issue")
    assert found["bestPath"] == "code.issues.createIssue" and "not connected" not in found.get("hint", "")
    hidden = await harness.catalog.search(harness.workspace, "github create issue", visibility=visibility("code.**"))
    assert hidden["hint"].startswith("github is not connected; nothing is connected")


async def test_a_weak_match_says_so_and_what_to_ask(harness: CatalogHarness) -> None:
    await connect_things(harness)
    answer = await harness.catalog.search(harness.workspace, "things create invoice")
    assert next(iter(answer)) == "hint" and answer["hint"].startswith("weak match: search for app + verb + object")
    assert answer["bestPath"]


def paged_operation(name: str) -> dict[str, Any]:
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    things = {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}
    return {
        **operation(name, summary=f"{name} of the shop. And so on."),
        "parameters": [page],
        "responses": answers(things),
    }


async def test_a_brief_answer_says_nothing_twice_and_costs_half(harness: CatalogHarness) -> None:
    parts = {"components": {"schemas": {"Thing": {"type": "object", "properties": {"id": {"type": "string"}}}}}}
    await harness.connect({f"/things{n}": {"get": paged_operation(f"listThings{n}")} for n in range(8)}, **parts)
    whole = await harness.catalog.search(harness.workspace, "list things", limit=5)
    assert any(item["path"].endswith(".all") for item in whole["items"])
    for language in ("typescript", "python"):
        brief = await harness.catalog.search(
            harness.workspace, "list things", limit=5, depth=None, brief=True, explain=False, language=language
        )
        first, rest = brief["items"][:3], brief["items"][3:]
        assert len(rest) == 2 and brief["bestPath"] == first[0]["path"]
        assert all(set(item) == {"path", "effect", "signature", "all"} for item in first)
        assert all("of the shop" in item["signature"] for item in first)
        assert all(set(item) == {"path", "effect", "description", "all"} for item in rest)
        assert len(json.dumps(brief)) < 0.65 * len(json.dumps(whole))
    hidden = await harness.catalog.search(
        harness.workspace, "list things", depth=None, brief=True, explain=False, visibility=visibility("*.*.*.all")
    )
    assert hidden["items"] and not any("all" in item for item in hidden["items"])
    explained = await harness.catalog.search(harness.workspace, "list things", depth=None, brief=True)
    assert {"score", "matched", "signature"} <= set(explained["items"][0])
    all_of_them = await harness.catalog.search(harness.workspace, "list things", depth=1, brief=True, explain=False)
    assert all("signature" in item for item in all_of_them["items"]) and len(all_of_them["items"]) == 8


async def test_a_denied_tool_is_not_found_counted_or_suggested(harness: CatalogHarness) -> None:
    await connect_things(harness)
    hidden = visibility("things.things.**")
    found = await harness.catalog.search(harness.workspace, "get thing", depth=0, visibility=hidden)
    assert [item["path"] for item in found["items"]] in ([], ["things.boxes.listBoxes"])
    assert (await harness.catalog.search(harness.workspace, "", visibility=hidden, depth=0))["total"] == 1
    assert "things.things.getThing" in await harness.catalog.nearest(harness.workspace, "things.things.getThin")
    assert "things.things.getThing" not in await harness.catalog.nearest(
        harness.workspace, "things.things.getThin", visibility=hidden
    )
    with pytest.raises(NotFound) as caught:
        await harness.catalog.describe(harness.workspace, "things.things.getThin", visibility=hidden)
    assert "getThing" not in f"{caught.value.message} {caught.value.hint}"
    everything = await harness.catalog.search(
        harness.workspace, "thing", namespace="thnigs", visibility=visibility("**")
    )
    assert "things" not in everything["hint"].replace("thnigs", "")


@pytest.mark.parametrize("pattern", ["**", "a.**", "a.*.c", "a.b.c", "a.b", "b.**", "*.b.*"])
@pytest.mark.parametrize("path", ["a.b.c", "a.b", "a.b.c.d", "b.c"])
def test_what_is_hidden_is_what_is_denied(pattern: str, path: str) -> None:
    denied = decide(Subject(path, "read"), [Policy("p", "workspace", "w", 0, pattern, "deny")]).action == "deny"
    assert visibility(pattern).hides(path) == denied
    assert not visibility(pattern, "allow").hides(path)


def test_without_a_denial_nothing_is_hidden() -> None:
    assert visibility_of([Policy("p", "workspace", "w", 0, "**", "allow")]) is None


async def test_an_answer_has_room_for_so_much_and_says_what_was_cut(harness: CatalogHarness) -> None:
    wide = {f"field{number}": {"type": "string", "description": "word " * 40} for number in range(40)}
    schema = {"type": "object", "properties": wide}
    paths = {
        f"/things{number}": {"get": {"operationId": f"getThing{number}", "tags": ["t"], "responses": answers(schema)}}
        for number in range(20)
    }
    await harness.connect(paths)
    answer = await harness.catalog.search(harness.workspace, "get thing", depth=2, limit=20)
    assert len(answer["items"]) == 20 and len(json.dumps(answer)) < 45_000
    assert "the schemas of" in answer["hint"]
    assert "outputSchema" in answer["items"][0] and "outputSchema" not in answer["items"][-1]


async def test_a_restart_reads_what_was_kept(
    harness: CatalogHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect_things(harness)
    folder = tmp_path / "search"
    first = await Indexes(harness.database, folder).of(harness.workspace)
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600

    async def fail(*_: object) -> None:
        raise AssertionError("it was made again")

    monkeypatch.setattr(Indexes, "_build", fail)
    again = await Indexes(harness.database, folder).of(harness.workspace)
    assert again.index.paths == first.index.paths


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other version"])
async def test_a_damaged_or_old_file_is_made_again(harness: CatalogHarness, tmp_path: Path, damage: str) -> None:
    await connect_things(harness)
    folder = tmp_path / "search"
    first = await Indexes(harness.database, folder).of(harness.workspace)
    (file,) = folder.iterdir()
    data = file.read_bytes()
    made = len(segment_files.MAGIC)
    damaged = {
        "cut": data[:-10],
        "flipped": data[:-10] + bytes([data[-10] ^ 1]) + data[-9:],
        "empty": b"",
        "other version": data[:made] + bytes(16) + data[made + 16 :],
    }
    file.write_bytes(damaged[damage])
    again = await Indexes(harness.database, folder).of(harness.workspace)
    assert again.index.paths == first.index.paths and file.read_bytes() == data


async def test_only_a_changed_source_is_read_again(
    harness: CatalogHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect_things(harness)
    indexes = Indexes(harness.database, tmp_path / "search")
    await indexes.of(harness.workspace)
    await harness.connect({"/others": {"get": operation("listOthers", "others")}}, namespace="more")
    made: list[str] = []
    build = Indexes._build

    async def note_build(self: Indexes, one: Any) -> Any:
        made.append(one.namespace)
        return await build(self, one)

    monkeypatch.setattr(Indexes, "_build", note_build)
    indexes.forget(harness.workspace)
    shown = await indexes.of(harness.workspace)
    assert made == ["more"] and "more.others.listOthers" in shown.index.paths


async def test_what_a_removed_source_left_behind_is_swept(harness: CatalogHarness, tmp_path: Path) -> None:
    await connect_things(harness)
    folder = tmp_path / "search"
    indexes = Indexes(harness.database, folder)
    await indexes.of(harness.workspace)
    await harness.catalog.lifecycle.remove(harness.workspace, "things")
    indexes.forget(harness.workspace)
    assert (await indexes.of(harness.workspace)).index.total == 0 and list(folder.iterdir()) == []


def test_a_segment_comes_back_as_it_was_kept() -> None:
    segment = build_segment([Entry("a.b.c", "Some words", "write", ("tag",), route="POST /b", parameters=("x",))])
    again = segment_files.unpack(segment_files.pack(segment))
    assert again.paths == segment.paths and again.terms == segment.terms
    assert all((getattr(again, name) == getattr(segment, name)).all() for name in segment_files.ARRAYS)


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_a_brief_answer_has_the_fields_of_a_result_for_the_best_tool_alone(
    harness: CatalogHarness, language: Language
) -> None:
    """The other tools are there to choose from; what they return is described when one is chosen."""
    await connect_things(harness)
    found = await harness.catalog.search(
        harness.workspace, "get thing", depth=None, brief=True, explain=False, language=language
    )
    declared = "class Thing(TypedDict)" if language == "python" else "type Thing ="
    assert declared in found["items"][0]["signature"]
    others = [item["signature"] for item in found["items"][1:3]]
    assert others and not any(declared in one for one in others)
    indents = [re.search(r'\n +[^ "]', item["signature"]) for item in found["items"][:3]]
    assert indents == [None] * len(indents)
