"""Attacks 87 to 90: on what policies look at. Names that collide, documents that hold calls, spellings, redirects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.sources.graphql.service import Service
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon

TEXT = {"type": "string"}
OPEN = {"type": "object", "additionalProperties": True}
FORM = "application/x-www-form-urlencoded"


def query(name: str, schema: Any = TEXT, **more: Any) -> dict[str, Any]:
    return {"in": "query", "name": name, "schema": schema, **more}


def operation(name: str, *parameters: Any, body: Any = None, media: str = "application/json", **more: Any) -> Any:
    found: dict[str, Any] = {"operationId": name, "tags": ["use"], "parameters": list(parameters)}
    if body is not None:
        found["requestBody"] = {"required": True, "content": {media: {"schema": body, **more}}}
    return {**found, "responses": {"200": {}}}


MONEY = {"type": "object", "properties": {"to": TEXT, "amount": {"type": "number"}}, "required": ["to"]}
FIELDS = {"type": "object", "properties": {"owner": TEXT, "meta": OPEN}, "additionalProperties": True}
LOOSE = {"type": "object", "properties": {"to": {}}}
PATHS = {
    "/pay": {"post": operation("pay", query("owner"), query("meta", OPEN), query("page[size]"))},
    "/deep": {"get": operation("deep", query("owner"), query("filter", OPEN, style="deepObject"), query("filter[id]"))},
    "/do?action=list": {"get": operation("listed", query("opts", OPEN))},
    "/chosen?action=list": {"get": operation("chosen", query("action"))},
    "/jar": {
        "get": operation("jar", {"in": "cookie", "name": "owner", "schema": TEXT},
                         {"in": "cookie", "name": "all", "schema": OPEN})
    },
    "/form": {"post": operation("form", body=FIELDS, media=FORM, encoding={"meta": {"style": "form"}})},
    "/parts": {"post": operation("parts", body=FIELDS, media="multipart/form-data")},
    "/whole": {"get": operation("whole", {"in": "querystring", "name": "q", "content": {FORM: {"schema": OPEN}}})},
    "/free": {"get": operation("free", query("q", TEXT, allowReserved=True))},
    "/json": {"post": operation("json", body={**MONEY, "additionalProperties": True})},
    "/transfer": {"post": operation("transfer", body=MONEY)},
    "/find": {"get": operation("find", query("id", {}), query("ids", {"type": "array", "items": TEXT}))},
    "/loose": {
        "post": operation("loose", body={"type": "object", "properties": {"to": {}, "meta": OPEN}}),
        "put": operation("looseForm", body=LOOSE, media=FORM),
        "patch": operation("looseParts", body=LOOSE, media="multipart/form-data"),
    },
    "/head": {"get": operation("head", {"in": "header", "name": "X-Owner", "schema": TEXT})},
    "/secret/{id}": {"get": operation("secret", {"in": "path", "name": "id", "required": True, "schema": TEXT})},
    "/wipe": {"get": operation("wipe"), "post": operation("wipeAll")},
    "/tenant": {
        "get": {**operation("tenant", query("opts", OPEN)), "servers": [{"url": "{base}?tenant={who}"}]},
    },
    "/rows": {
        "get": {
            **operation("rows", query("page", {"type": "integer"})),
            "responses": {"200": {"content": {"application/json": {"schema": {"type": "array", "items": OPEN}}}}},
        }
    },
    "/go": {"get": operation("go", query("to")), "post": operation("goPost", query("to"))},
}  # fmt: skip


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        server.otherwise = as_json({"ok": True})
        yield server


@pytest.fixture(scope="module")
def pay(daemon: Daemon, upstream: Upstream) -> Iterator[Upstream]:
    paths = json.loads(json.dumps(PATHS))
    variables = {"base": {"default": upstream.url}, "who": {"default": "acme", "enum": ["acme", "other"]}}
    paths["/tenant"]["get"]["servers"][0]["variables"] = variables
    document = {"openapi": "3.2.0", "info": {"title": "Cond", "version": "1"}, "paths": paths}
    upstream.routes["/openapi.json"] = as_json({**document, "servers": [{"url": upstream.url}]})
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "cond"})
    assert added.status == 201, added.body
    yield upstream
    daemon.request("DELETE", "/v1/sources/cond")


@pytest.fixture(scope="module")
def graph(daemon: Daemon, upstream: Upstream) -> Iterator[Service]:
    found = Service(SDL)

    def answering(got: Got, handler: Handler) -> Reply:
        is_call = "search" in got.json["query"] or "count" in got.json["query"]
        return as_json({"data": {"count": 1}}) if is_call else found(got, handler)

    upstream.routes["/graphql"] = answering
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/graphql", "namespace": "gq"})
    assert added.status == 201, added.body
    yield found
    daemon.request("DELETE", "/v1/sources/gq")


@pytest.fixture
def add_policy(daemon: Daemon) -> Iterator[Any]:
    made: list[str] = []

    def add(pattern: str, action: str, *conditions: Any) -> None:
        body = {"pattern": pattern, "action": action, "conditions": list(conditions)}
        answer = daemon.post("/v1/policies", body)
        assert answer.status == 201, answer.body
        made.append(answer.json["id"])

    yield add
    for one in made:
        daemon.request("DELETE", f"/v1/policies/{one}")


def equals(path: str, value: Any) -> dict[str, Any]:
    return {"path": path, "test": "equals", "value": value}


def attempts(daemon: Daemon, *calls: tuple[str, Any], python: bool = False) -> list[Any]:
    """What becomes of each call, made one after the other by one execution."""
    if python:
        lines = ["found = []"]
        for path, arguments in calls:
            lines += ["try:", f"    await tools.{path}(**{arguments!r})", "    found.append('sent')"]
            lines += ["except ToolError as error:", "    found.append(error.code)"]
        view = daemon.execute("\n".join([*lines, "return found"]), language="python", typecheck="off")
    else:
        each = (f"await tools.{path}({json.dumps(given)}).then(() => 'sent', e => e.code)" for path, given in calls)
        view = daemon.execute(f"return [{','.join(each)}]", typecheck="off")
    assert view["status"] == "completed", view
    return list(view["result"])


def names_of(got: Got) -> list[str]:
    return [name for name, _ in parse_qsl(got.target.partition("?")[2], keep_blank_values=True)]


KEYS = ["owner", "Owner", "OWNER", "owner[]", "owner[x]", "owner.x", "own%65r", "x;owner", "x&owner", "x=1&owner",
        " owner", "owner ", "\uff4fwner", "owner\u200b", "page", "page[size]"]  # fmt: skip


@pytest.mark.parametrize("python", [False, True])
def test_87_a_key_of_an_object_takes_the_name_of_a_parameter(
    daemon: Daemon, pay: Any, add_policy: Any, python: bool
) -> None:
    """Defence: `openapi/calls/argument_collisions.py`: made names can't be declared ones, nor what services take for
    them."""
    add_policy("cond.use.pay", "allow", equals("/owner", "acme"))
    add_policy("cond.**", "allow")
    pay.requests.clear()
    calls = [("cond.use.pay", {"owner": "acme", "meta": {key: "evil"}}) for key in KEYS]
    assert attempts(daemon, *calls, python=python) == ["invalid_arguments"] * len(KEYS)
    assert pay.requests == []
    fine = ("cond.use.pay", {"owner": "acme", "meta": {"color": "red"}, "page[size]": "5"})
    assert attempts(daemon, fine, python=python) == ["sent"]
    assert sorted(names_of(pay.requests[0])) == ["color", "owner", "page[size]"]


def test_87_forms_cookies_and_deep_objects_bring_names_along(daemon: Daemon, pay: Upstream, add_policy: Any) -> None:
    add_policy("cond.**", "allow")
    pay.requests.clear()
    tries: list[tuple[str, Any]] = [
        ("cond.use.deep", {"filter": {"id": "evil"}, "filter[id]": "ok"}),
        ("cond.use.deep", {"filter": {"id][x": "evil"}}),
        ("cond.use.deep", {"filter": {"a": 1, "A": 2}}),
        ("cond.use.deep", {"filter": {"x": {"b": 1, "B": 2}}}),
        ("cond.use.listed", {"opts": {"action": "delete"}}),
        ("cond.use.listed", {"opts": {"Action": "delete"}}),
        ("cond.use.listed", {"opts": {"action[]": "delete"}}),
        ("cond.use.tenant", {"opts": {"tenant": "other"}}),
        ("cond.use.tenant", {"opts": {"Tenant[]": "other"}}),
        ("cond.use.jar", {"owner": "ok", "all": {"owner": "evil"}}),
        ("cond.use.jar", {"owner": "ok", "all": {"OWNER": "evil"}}),
        ("cond.use.form", {"owner": "ok", "meta": {"owner": "evil"}}),
        ("cond.use.form", {"owner": "ok", "owner[]": "evil"}),
        ("cond.use.form", {"body": {"owner": "ok", "Owner": "evil"}}),
        ("cond.use.form", {"owner": "ok", "color": "x", "meta": {"color": "evil"}}),
        ("cond.use.parts", {"owner": "ok", "OWNER": "evil"}),
        ("cond.use.parts", {"owner": "ok", "owner.x": "evil"}),
        ("cond.use.whole", {"q": {"a": "1", "a[]": "2"}}),
    ]
    assert attempts(daemon, *tries) == ["invalid_arguments"] * len(tries)
    assert pay.requests == []
    fine: list[tuple[str, Any]] = [
        ("cond.use.deep", {"owner": "a", "filter": {"size": 1, "tags": ["x", "y"]}}),
        ("cond.use.listed", {"opts": {"id": "7"}}),
        ("cond.use.chosen", {"action": "other"}),
        ("cond.use.form", {"owner": "ok", "meta": {"color": "red"}, "size": 1}),
        ("cond.use.parts", {"owner": "ok", "size": "1"}),
        ("cond.use.tenant", {"opts": {"id": "1"}}),
        ("cond.use.free", {"q": "a;owner=evil"}),
    ]
    assert attempts(daemon, *fine) == ["sent"] * len(fine)
    assert [got.target.partition("?")[2] for got in pay.requests[1:3]] == ["action=list&id=7", "action=other"]
    assert pay.requests[-2].target == "/tenant?tenant=acme&id=1"
    assert ";" not in pay.requests[-1].target


@pytest.mark.parametrize("python", [False, True])
def test_87_a_body_written_twice_or_elsewhere_is_judged_by_what_is_sent(
    daemon: Daemon, pay: Upstream, add_policy: Any, python: bool
) -> None:
    """Defence: `openapi/calls/arguments.py::meaning`: one form; `conditions.resolve`: a name that is there twice is
    doubt."""
    add_policy("cond.use.json", "deny", equals("/to", "evil"))
    add_policy("cond.use.transfer", "deny", equals("/body/to", "evil"))
    add_policy("cond.use.find", "deny", equals("/id", 7))
    add_policy("cond.**", "allow")
    denied = [
        ("cond.use.json", {"body": {"to": "evil"}}),
        ("cond.use.json", {"to": "ok", "To": "evil"}),
        ("cond.use.json", {"to": "ok", "body": {"TO": "evil"}}),
        ("cond.use.transfer", {"to": "evil"}),
        ("cond.use.transfer", {"amount": 1, "body": {"to": "evil"}}),
        ("cond.use.find", {"id": "7"}),
        ("cond.use.find", {"id": [7]}),
        ("cond.use.find", {"id": 7.0}),
        ("cond.use.find", {"id": None}),
    ]
    assert attempts(daemon, *denied, python=python) == ["denied"] * len(denied)
    fine = [("cond.use.json", {"body": {"to": "ok"}}), ("cond.use.find", {"id": "8"})]
    assert attempts(daemon, *fine, python=python) == ["sent", "sent"]


@pytest.mark.parametrize("python", [False, True])
def test_87_a_value_inside_a_list_or_an_object_is_in_doubt(
    daemon: Daemon, pay: Upstream, add_policy: Any, python: bool
) -> None:
    """Defence: `conditions.equals`: `id=7&id=8` and `id=7` are what a list and an object are sent as."""
    add_policy("cond.use.find", "deny", equals("/id", 7))
    add_policy("cond.use.find", "deny", {"path": "/id", "test": "one_of", "value": ["x", 9]})
    for name in ("loose", "looseForm", "looseParts"):
        add_policy(f"cond.use.{name}", "deny", equals("/to", "evil"))
    add_policy("cond.**", "allow")
    pay.requests.clear()
    denied: list[tuple[str, Any]] = [
        *(("cond.use.find", {"id": one}) for one in (
            [7, 8], ["8", "7"], {"id": 7}, {"x": "7"}, [[7]], [9, 8], {"id": "x"}, "07", " 7", "7.0", "7e0", "\uff17",
        )),
        *((f"cond.use.{name}", {"to": one}) for name in ("loose", "looseForm", "looseParts") for one in (
            ["evil", "ok"], {"to": "evil"}, {"$in": ["evil"]}, [{"to": "evil"}], {"base64": "ZXZpbA=="},
        )),
    ]  # fmt: skip
    assert attempts(daemon, *denied, python=python) == ["denied"] * len(denied)
    assert pay.requests == []
    fine = [("cond.use.find", {"id": "8"}), ("cond.use.find", {"id": 8}), ("cond.use.loose", {"to": "ok"})]
    assert attempts(daemon, *fine, python=python) == ["sent"] * len(fine)


@pytest.mark.parametrize("python", [False, True])
def test_87_a_header_is_judged_as_it_arrives(daemon: Daemon, pay: Upstream, add_policy: Any, python: bool) -> None:
    """Defence: `parameter_styles.header_value`: a service reads a header without the white space around it."""
    add_policy("cond.use.head", "deny", equals("/X-Owner", "evil"))
    add_policy("cond.**", "allow")
    pay.requests.clear()
    calls = [("cond.use.head", {"X-Owner": given}) for given in ("evil ", " evil", "evil\t", "\tevil ")]
    assert attempts(daemon, *calls, python=python) == ["invalid_arguments"] * len(calls)
    assert pay.requests == []
    assert attempts(daemon, ("cond.use.head", {"X-Owner": "not evil"}), python=python) == ["sent"]


SDL = """
type Query { search(q: String, limit: Int): Found  count: Int!  viewer: Viewer }
type Viewer { query: Query  name: String }
type Found { secret: String }
type Mutation { pay(to: String, amount: Float): Paid  note(text: String): Paid }
type Paid { id: ID  query: Query }
"""
RAW = [
    '{ x: search(q: "a") { secret } }',
    "query Q { ...F } fragment F on Query { ...G } fragment G on Query { search { secret } }",
    "{ ... { ... on Query { search { secret } } } }",
    "query A { count } query B { search { secret } }",
    "query ($y: Boolean = false) { count search @include(if: $y) { secret } }",
    "{ search @skip(if: true) { secret } count }",
    "{ viewer { query { s: search { secret } } } }",
]


@pytest.mark.parametrize("python", [False, True])
def test_88_a_denied_field_inside_a_document(daemon: Daemon, graph: Service, add_policy: Any, python: bool) -> None:
    """Defence: `graphql/roots.py`: each root field is judged as its own tool, wherever a document selects it."""
    add_policy("gq.query.search", "deny")
    add_policy("gq.mutation.note", "deny")
    add_policy("gq.**", "allow")
    calls: list[tuple[str, Any]] = [
        ("gq.graphql.query", {"query": text, **({"operationName": "A"} if "query B" in text else {})}) for text in RAW
    ]
    calls += [
        ("gq.query.viewer", {"select": "{ query { search { secret } } }"}),
        ("gq.mutation.pay", {"to": "x", "select": "{ query { search { secret } } }"}),
        ("gq.graphql.mutate", {"query": 'mutation { a: pay(to: "x") { id } b: note(text: "y") { id } }'}),
        ("gq.graphql.mutate", {"query": "query { search { secret } }"}),
        ("gq.graphql.mutate", {"query": "mutation { pay { id query { search { secret } } } }"}),
    ]
    assert attempts(daemon, *calls, python=python) == ["denied"] * len(calls)
    fine = [("gq.graphql.query", {"query": "{ __typename count }"}), ("gq.query.count", {})]
    assert attempts(daemon, *fine, python=python) == ["sent", "sent"]


def test_88_conditions_and_introspection_inside_a_document(daemon: Daemon, graph: Service, add_policy: Any) -> None:
    add_policy("gq.query.search", "deny", equals("/q", "evil"))
    add_policy("gq.graphql.type", "deny")
    add_policy("gq.**", "allow")
    ask = 'query ($v: String = "evil", $w: String) { search(q: %s) { secret } count @include(if: false) @x(w: $w) }'
    denied = [
        {"query": '{ search(q: "evil") { secret } }'},
        {"query": '{ search(q: """evil""") { secret } }'},
        {"query": "{ search { secret } }"},
        {"query": ask % "$v", "variables": {"v": "evil"}},
        {"query": ask % "$v"},
        {"query": ask % "$w", "variables": {"v": "ok"}},
        {"query": '{ a: search(q: "ok") { secret } b: search(q: "evil") { secret } }'},
        {"query": "{ __schema { types { name } } }"},
        {"query": '{ __type(name: "Query") { name } }'},
    ]  # fmt: skip
    assert attempts(daemon, *[("gq.graphql.query", one) for one in denied]) == ["denied"] * len(denied)
    unreadable = {"query": "{ search(q: %s) { secret } }" % ("9" * 5000)}
    assert attempts(daemon, ("gq.graphql.query", unreadable)) == ["invalid_arguments"]
    fine = [{"query": '{ search(q: "ok") { secret } }'}, {"query": ask % "$v", "variables": {"v": "ok"}}]
    assert attempts(daemon, *[("gq.graphql.query", one) for one in fine]) == ["sent", "sent"]


DESCRIBING = [
    ("gq.graphql.type", {"name": "Mutation"}),
    ("gq.graphql.type", {"name": "Query"}),
    ("gq.graphql.query", {"query": '{ __type(name: "Mutation") { fields { name } } }'}),
    ("gq.graphql.query", {"query": "{ count __schema { mutationType { fields { name } } } }"}),
    ("gq.graphql.query", {"query": "{ viewer { query { __schema { types { name } } } } }"}),
    ("gq.graphql.query", {"query": "{ serch { id } }"}),
    ("gq.graphql.mutate", {"query": "mutation { notes }"}),
    ("gq.query.viewer", {"select": "{ query { serch } }"}),
    ("gq.query.viewer", {"select": "{ query { __schema { types { name } } } }"}),
]


@pytest.mark.parametrize("denied", [{"pattern": "gq.mutation.*"}, {"pattern": "gq.*.note"}, {"effect": "write"}])
def test_80_the_schema_of_a_graph_says_nothing_of_a_denied_field(
    daemon: Daemon, graph: Service, denied: dict[str, str]
) -> None:
    """Defence: `hidden_fields` in `graphql/raw_documents.py`: descriptions, hints and introspection leave it out."""
    given = [{"pattern": "gq.**", **denied}, {"pattern": "gq.query.search"}]
    made = [daemon.post("/v1/policies", {"action": "deny", **one}).json["id"] for one in given]
    try:
        for path, arguments in DESCRIBING:
            code = f"return await tools.{path}({json.dumps(arguments)}).catch(e => [e.message, e.hint, e.details])"
            body = {"code": code, "typecheck": "off", "wait": 60}
            told = json.dumps(daemon.post("/v1/executions", body, role="agent").json["result"])
            words = json.dumps(arguments)
            assert not [one for one in ("note(", "note,", "note'", '"note"', "search") if one in told], (words, told)
        shown = daemon.execute('return await tools.gq.graphql.type({name: "Query"})')["result"]
        assert "count: Int!" in shown and "viewer: Viewer" in shown
    finally:
        for one in made:
            daemon.request("DELETE", f"/v1/policies/{one}")
    assert "note(" in daemon.execute('return await tools.gq.graphql.type({name: "Mutation"})')["result"]
    introspected = daemon.execute('return await tools.gq.graphql.query({query: "{ __schema { types { name } } }"})')
    assert "Mutation" in json.dumps(introspected["result"])


def test_88_a_document_is_asked_about_by_the_names_of_its_fields(
    daemon: Daemon, graph: Service, add_policy: Any
) -> None:
    add_policy("gq.query.search", "require_approval")
    for code in (
        'tools.gq.graphql.query({query: "{ x: search { secret } count }"})',
        'tools.gq.graphql.mutate({query: "mutation { pay { query { search { secret } } } }"})',
    ):
        view = daemon.execute(f"return await {code}")
        assert view["status"] == "paused", view
        assert "gq.query.search" in view["interactions"][0]["prompt"]
    allowed = daemon.post(f"/v1/interactions/{view['interactions'][0]['id']}/approve", {"scope": "always"})
    assert allowed.status == 409 and "still need approval" in allowed.json["detail"], allowed.json


def again(daemon: Daemon, first: str, second: str, *, python: bool = False) -> Any:
    """Deny the first call, and see what becomes of the second."""
    if python:
        code = f"try:\n    await {first}\nexcept ToolError:\n    pass\ntry:\n    await {second}\n"
        code += "except ToolError as error:\n    return error.code"
    else:
        code = f"await {first}.catch(() => 0); return await {second}.then(() => 'sent', e => e.code)"
    view = daemon.execute(code, typecheck="off", **({"language": "python"} if python else {}))
    asked = view["interactions"][0]["id"]
    assert daemon.post(f"/v1/interactions/{asked}/deny", {"reason": "no"}).status == 200

    def look() -> Any:
        now = daemon.get(f"/v1/executions/{view['executionId']}").json
        is_asked = [one for one in now["interactions"] if one["status"] == "pending"]
        return now if now["status"] == "completed" or is_asked else None

    now = wait_for(look)
    return now["result"] if now["status"] == "completed" else "asked"


PAY = "tools.cond.use.transfer"
SAME = [
    ('{to: "x", amount: 5}', '{body: {amount: 5.0, to: "x"}}'),
    ('{to: "x", amount: 100}', '{amount: 1e2, body: {to: "x"}}'),
]
PYTHON_SAME = [("to='x', amount=5", "to='x', amount=5.0"), ("body={'to': 'x'}", "to='x'")]
MUTATE = "tools.gq.graphql.mutate"
GRAPH_SAME = [
    ('tools.gq.mutation.pay({to: "x"})', f'{MUTATE}({{query: "mutation {{ p: pay(to: \\"x\\") {{ id }} }}"}})'),
    (f'{MUTATE}({{query: "mutation {{ pay(to: \\"x\\") {{ id }} }}"}})',
     f'{MUTATE}({{query: "mutation M($t: String) {{ pay(to: $t) {{ __typename }} }}", variables: {{t: "x"}}}})'),
    ('tools.gq.mutation.pay({to: "x"})', 'tools.gq.mutation.pay({to: "x", select: "{ id }"})'),
]  # fmt: skip


def test_89_a_denied_call_in_another_spelling(daemon: Daemon, pay: Upstream, graph: Service) -> None:
    """Defence: `subjects.keys_of`: a denial holds for what would be sent."""
    for first, second in SAME:
        assert again(daemon, f"{PAY}({first})", f"{PAY}({second})") == "denied"
    for first, second in PYTHON_SAME:
        assert again(daemon, f"{PAY}({first})", f"{PAY}({second})", python=True) == "denied"
    for first, second in GRAPH_SAME:
        assert again(daemon, first, second) == "denied"
    assert again(daemon, f'{PAY}({{to: "x"}})', f'{PAY}({{to: "y"}})') == "asked"
    assert again(daemon, 'tools.gq.mutation.pay({to: "x"})', 'tools.gq.mutation.pay({to: "y"})') == "asked"


TO_SECRET = ["/secret/7", "secret/7", "/x/../secret/7", "/SECRET/7", "/secret%2F7", "/secret/7/", "/secret/7;a=1",
             "/./secret//7", "/%73ecret/7"]  # fmt: skip


def leading(got: Got, handler: Handler) -> Reply:
    given = dict(parse_qsl(got.target.partition("?")[2]))
    status, _, where = given["to"].partition(" ")
    return Reply(int(status), headers={"Location": where})


@pytest.mark.parametrize("python", [False, True])
def test_90_a_redirect_reaches_what_is_denied(daemon: Daemon, pay: Upstream, add_policy: Any, python: bool) -> None:
    """Defence: `subjects.check_following`: a redirect to a tool of the source is judged as a call of it."""
    add_policy("cond.use.secret", "deny")
    add_policy("cond.use.wipe", "require_approval")
    add_policy("cond.**", "allow")
    pay.routes["/go"] = leading
    pay.requests.clear()
    places = [*TO_SECRET, f"{pay.url}/secret/7", f"//{pay.url[7:]}/secret/7", "/wipe"]
    calls = [("cond.use.go", {"to": f"{status} {place}"}) for place in places for status in (302, 307)]
    calls += [("cond.use.goPost", {"to": f"303 {place}"}) for place in places[:3]]
    assert attempts(daemon, *calls, python=python) == ["egress_refused"] * len(calls)
    assert {got.target.partition("?")[0] for got in pay.requests} == {"/go"}
    fine = [("cond.use.go", {"to": "302 /find?id=1"}), ("cond.use.goPost", {"to": "303 /other"})]
    assert attempts(daemon, *fine, python=python) == ["sent", "sent"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_90_a_redirect_takes_a_write_to_another_path(
    daemon: Daemon, pay: Upstream, add_policy: Any, status: int
) -> None:
    """Defence: `egress.redirected`: a body stays at the path it was meant for."""
    add_policy("cond.**", "allow")
    pay.routes["/go"] = leading
    pay.requests.clear()
    places = ["/wipe", "wipe", "/go/../wipe", f"//{pay.url[7:]}/wipe", "/unknown", "/go?to=evil"]
    calls = [("cond.use.goPost", {"to": f"{status} {place}"}) for place in places]
    assert attempts(daemon, *calls) == ["egress_refused"] * len(calls)
    assert {got.target.partition("?")[0] for got in pay.requests} == {"/go"}


def test_90_the_next_page_is_what_is_denied(daemon: Daemon, pay: Upstream, add_policy: Any) -> None:
    """Defence: `Sending.follow`: an address that a page names is judged like a redirect."""
    add_policy("cond.use.secret", "deny")
    pages = {"/secret/7": "egress_refused", "/SECRET/7?page=2": "egress_refused", "/rows?page=2": "sent"}
    for place, expected in pages.items():
        pay.requests.clear()

        def listing(got: Got, handler: Handler, place: str = place) -> Reply:
            is_last = "page=2" in got.target
            more = {} if is_last else {"Link": f'<{place}>; rel="next"'}
            return Reply(200, b"[]" if is_last else b'[{"id": 1}]', {"Content-Type": "application/json", **more})

        pay.routes["/rows"] = listing
        assert attempts(daemon, ("cond.use.rows.all", {})) == [expected]
        assert [got.target for got in pay.requests if "ecret" in got.target.lower()] == []
