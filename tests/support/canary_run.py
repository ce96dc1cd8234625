"""One long run of a real daemon in which secrets of every kind go through everything that takes or could show them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psutil

from tests.support.authorization import Client
from tests.support.canaries import Canaries
from tests.support.daemon import Daemon, Refused
from tests.support.echo_service import PLACES, leaking
from tests.support.login_harness import visit
from tests.support.loopback import Authority, Service, listening
from tests.support.otlp_receiver import OtlpReceiver, running_otlp_receiver
from tests.support.protected_service import ProtectedService

COMMAND = [sys.executable, str(Path(__file__).parents[1] / "connections" / "servers" / "key_server.py"), "stdio"]
TOKEN_FILES = {"operator.token", "agent.token"}
RING = '''
import json, os, pathlib
from keyring.backend import KeyringBackend

FILE = pathlib.Path(os.environ["RING_FILE"])


class Ring(KeyringBackend):
    """Stands in for the keyring of the operating system, in a file that only this process knows."""

    priority = 1

    def _all(self):
        return json.loads(FILE.read_text()) if FILE.exists() else {}

    def get_password(self, service, username):
        return self._all().get(f"{service} {username}")

    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({**self._all(), f"{service} {username}": password}))

    def delete_password(self, service, username):
        FILE.write_text(json.dumps({k: v for k, v in self._all().items() if k != f"{service} {username}"}))
'''


@dataclass
class Run:
    """What happened so far. `answers` are all that were given to anybody, except where a credential is handed out."""

    daemon: Daemon
    canaries: Canaries
    service: ProtectedService
    root: Path
    authority: Authority
    login: Service
    exported: OtlpReceiver
    answers: dict[str, bytes] = field(default_factory=dict)
    memory: dict[int, set[str]] = field(default_factory=dict)
    children: dict[str, bytes] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None, *, token: str = "") -> Any:
        try:
            given = self.daemon.request(method, path, body, token=token, timeout=60)
        except Refused as refused:
            given = refused.problem
        self.answers[f"{len(self.answers)} {method} {path}"] = json.dumps(given, ensure_ascii=False).encode()
        return given

    def execute(self, code: str, **body: Any) -> Any:
        return self.ask("POST", "/v1/executions", {"code": code, **body}, token=self.daemon.token("agent"))

    def handed_out(self, path: str, body: Any) -> Any:
        """An answer that has a credential in it, once, because that is what it is for."""
        return self.daemon.post(path, body)


@contextmanager
def running(root: Path) -> Iterator[Run]:
    canaries = Canaries()
    (root / "ring").mkdir()
    (root / "ring" / "standin_ring.py").write_text(RING)
    python_path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(root / "ring")]).lstrip(os.pathsep)
    with running_otlp_receiver() as exported:
        yield from _run(root, canaries, exported, python_path)


def _run(root: Path, canaries: Canaries, exported: OtlpReceiver, python_path: str) -> Iterator[Run]:
    daemon = Daemon(
        root,
        EXECUTOR_LOG_LEVEL="debug",
        EXECUTOR_TELEMETRY="otlp",
        EXECUTOR_TRACE_HOSTS="*",
        OTEL_EXPORTER_OTLP_ENDPOINT=exported.url,
        OTEL_EXPORTER_OTLP_HEADERS=f"x-key={canaries.new('header of the exporter', odd=False)}",
        OTEL_BSP_SCHEDULE_DELAY="200",
        OTEL_METRIC_EXPORT_INTERVAL="1000",
        EXECUTOR_WORKERS="1",
        EXECUTOR_SECRET_FROM_HERE=canaries.new("environment"),
        PYTHONPATH=python_path,
        PYTHON_KEYRING_BACKEND="standin_ring.Ring",
        RING_FILE=str(root / "ring" / "kept.json"),
    )
    daemon.start()
    with ExitStack() as stack:
        service = stack.enter_context(leaking())
        authority = stack.enter_context(listening(Authority))
        login = stack.enter_context(listening(lambda origin: Service(origin, authority)))
        run = Run(daemon, canaries, service, root, authority, login, exported)
        stack.callback(daemon.stop)
        for kind in ("operator", "agent"):
            canaries.add(f"{kind} token", daemon.token(kind))
        keep_secrets(run)
        connect_everything(run)
        use_everything(run)
        log_in(run)
        identify(run)
        look_into_processes(run)
        crash(run)
        read_everything(run)
        yield run


def keep_secrets(run: Run) -> None:
    new = run.canaries.new
    run.ask("POST", "/v1/secrets", {"name": "stored", "value": new("store, before rotation")})
    run.ask("POST", "/v1/secrets/stored/rotate", {"value": new("store")})
    run.ask("POST", "/v1/secrets", {"name": "rung", "provider": "keyring", "value": new("keyring")})
    here = {"name": "here", "provider": "environment", "reference": "EXECUTOR_SECRET_FROM_HERE"}
    run.ask("POST", "/v1/secrets", here)
    run.ask("POST", "/v1/secrets", {"name": "removed", "value": new("removed secret")})
    run.ask("POST", "/v1/secrets", {"name": 5, "value": new("secret in a refused body"), "odd": True})
    run.ask("POST", "/v1/secrets", {"name": "stored", "value": new("secret of a taken name")})
    run.ask("DELETE", "/v1/secrets/removed")
    assert {one["name"] for one in run.ask("GET", "/v1/secrets")["items"]} == {"stored", "rung", "here"}


def connect_everything(run: Run) -> None:
    new, url = run.canaries.new, run.service.url
    run.ask("POST", "/v1/sources", {"location": f"{url}/openapi.json", "namespace": "leaky"})
    given: dict[str, dict[str, Any]] = {
        "header": {"secrets": {"key": "stored"}},
        "query": {"values": {"key": new("query key")}},
        "cookie": {"values": {"key": new("cookie", odd=False)}},
        "basic": {"secrets": {"password": "rung"}, "values": {"username": "ann"}},
        "bearer": {"secrets": {"token": "here"}},
    }
    for place, credential in given.items():
        body = {"source": "leaky", "way": PLACES[place], "name": place, **credential}
        assert "id" in run.ask("POST", "/v1/connections", body), run.answers
    headers = {"X-Api-Key": new("static header"), "Authorization": f"Bearer {new('static bearer')}"}
    run.ask("POST", "/v1/sources", {"location": f"{url}/openapi.json", "namespace": "static", "headers": headers})
    run.ask("POST", "/v1/sources", {"command": COMMAND, "consent": True, "namespace": "child"})
    placement = {"in": "environment", "name": "API_KEY", "template": "{value}"}
    value = {"value": new("environment of a command")}
    run.ask("POST", "/v1/connections", {"source": "child", "values": value, "placements": [placement]})
    for namespace in ("leaky", "static", "child"):
        run.ask("POST", "/v1/policies", {"pattern": f"{namespace}.**", "action": "allow"})


def use_everything(run: Run) -> None:
    """Reads and writes in every mode; those that the service refuses last, since they end a connection's use."""
    paths = paths_of(run, "leaky")
    refused = [path for path in paths if "refused" in path]
    slow = [path for path in paths if "stalled" in path and ("header" in path.lower() or "query" in path.lower())]
    for path in [path for path in paths if "refused" not in path and "stalled" not in path]:
        settle(run, call(run, path))
    for path in slow:
        settle(run, call(run, path, timeoutMs=1500))
    for path in paths_of(run, "static"):
        if path.endswith("earer"):
            settle(run, call(run, path, **({"timeoutMs": 1500} if "stalled" in path else {})))
    assert "key=[redacted]" in json.dumps(run.execute("return await tools.child.key({})", wait=60))
    [echo] = [path for path in paths if re.search("echo_?[hH]eader$", path)]
    told = run.execute(f"return await tools.{echo}()", language="python", wait=60)
    assert told["status"] == "completed" and "[redacted]" in json.dumps(told["result"])
    speak_mcp(run)
    for path in refused:
        settle(run, call(run, path))


def call(run: Run, path: str, **options: Any) -> Any:
    tell = "(e) => [e.code, e.message, e.hint, e.details, String(e.stack)]"
    code = f'console.log("calling"); return await tools["{path}"]({{}}).catch({tell})'
    return run.execute(code, wait=60, **options)


def paths_of(run: Run, namespace: str) -> list[str]:
    return [one["path"] for one in run.ask("GET", f"/v1/tools?source={namespace}&limit=500")["items"]]


def settle(run: Run, view: Any) -> None:
    """An interaction that came of it (a refused credential, an unknown outcome) is denied; then the outcome is read."""
    for asked in view.get("interactions", ()):
        run.ask("POST", f"/v1/interactions/{asked['id']}/deny", {"reason": "no"})
    if view.get("status") in ("paused", "running"):
        run.ask("POST", f"/v1/executions/{view['executionId']}/resume", {"wait": 10}, token=run.daemon.token("agent"))


def speak_mcp(run: Run) -> None:
    names = [path for path in paths_of(run, "leaky") if "echo" in path or "broken" in path]
    code = f"return await Promise.allSettled({json.dumps(names)}.map((path) => tools[path]({{}})))"
    call = {"name": "execute", "arguments": {"code": code}}
    for number, (method, params) in enumerate((("tools/list", {}), ("tools/call", call)), 1):
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        headers = {
            "Authorization": f"Bearer {run.daemon.token('agent')}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        request = urllib.request.Request(f"{run.daemon.url}/mcp", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            run.answers[f"MCP {method}"] = answer.read()
    assert b"[redacted]" in run.answers["MCP tools/call"]


def log_in(run: Run) -> None:
    """OAuth: a client with a secret, a browser's login, a refresh, and client credentials."""
    ledger, callback = run.authority.ledger, f"{run.daemon.url}/oauth/callback"
    secret = run.canaries.new("client secret", odd=False)
    ledger.clients["app"] = Client("app", secret, (callback,), "client_secret_basic")
    run.ask("POST", "/v1/sources", {"location": f"{run.login.origin}/openapi.json", "namespace": "login"})
    body = {"source": "login", "allowServer": run.authority.origin, "clientId": "app", "clientSecret": secret}
    begun = run.handed_out("/v1/connections/oauth/start", body)
    path = urlsplit(begun["authorizationUrl"]).path
    run.canaries.add("ticket of a login", path.rpartition("/")[2])
    opened, _ = plain(run, f"{path}/go")
    back = visit(opened["Location"]).headers["Location"]
    cookie = opened["Set-Cookie"].partition(";")[0]
    run.canaries.add("cookie of a login", cookie.partition("=")[2])
    for state in re.findall(r"[?&](?:state|code)=([^&]+)", back):
        run.canaries.add(f"code or state {state[:3]}", state)
    _, run.answers["the page after a login"] = plain(run, back.removeprefix(run.daemon.url), Cookie=cookie)
    assert b"Connected" in run.answers["the page after a login"]
    read = "return await tools.login.me.getMe({})"
    assert run.execute(read)["status"] == "completed"
    ledger.tokens[-1].expires_at = 0
    assert run.execute(read)["status"] == "completed"
    run.ask("POST", "/v1/connections/oauth/credentials", {**body, "name": "machine"})
    for number, token in enumerate(ledger.tokens):
        run.canaries.add(f"access token {number}", token.access)
        if token.refresh:
            run.canaries.add(f"refresh token {number}", token.refresh)
    for form in ledger.forms:
        if "code_verifier" in form:
            run.canaries.add("code verifier", form["code_verifier"])
    ledger.revoked |= {token.family for token in ledger.tokens}
    settle(run, run.execute(read))


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def plain(run: Run, path: str, **headers: str) -> tuple[Any, bytes]:
    """Headers and body, as a browser would get them: without a token, and following nothing."""
    request = urllib.request.Request(f"{run.daemon.url}{path}", headers=headers)
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=60) as answer:
            return answer.headers, answer.read()
    except urllib.request.HTTPError as redirect:
        with redirect:
            return redirect.headers, redirect.read()


def identify(run: Run) -> None:
    """Every credential that a caller can have is used once, so that it was known to the daemon."""
    add, handed_out = run.canaries.add, run.handed_out
    shown = {
        "personal key": handed_out("/v1/keys", {"name": "mine"})["token"],
        "agent key": handed_out("/v1/agents", {"name": "bot"})["token"],
        "expired link": handed_out("/v1/auth/links", {})["url"].partition("#")[2],
        "invitation": handed_out("/v1/invitations", {})["url"].partition("#")[2],
    }
    session = handed_out("/v1/auth/anonymous/bootstrap", {})["sessionId"]
    shown["anonymous session"] = session
    shown["anonymous token"] = handed_out("/v1/auth/anonymous/token", {"sessionId": session})["accessToken"]
    link = handed_out("/v1/auth/links", {})["url"].partition("#")[2]
    link = link.rpartition("=")[2]
    shown = {name: value.rpartition("=")[2] for name, value in shown.items()}
    shown["link"] = link
    request = urllib.request.Request(
        f"{run.daemon.url}/v1/auth/sign-in",
        json.dumps({"token": link}).encode(),
        {"Content-Type": "application/json", "Origin": run.daemon.url},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        shown["browser session"] = answer.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
        run.answers["sign-in"] = answer.read()
    for name, value in shown.items():
        add(name, value)
    cookie = {"Cookie": f"executor_session={shown['browser session']}", "Sec-Fetch-Site": "same-origin"}
    _, run.answers["as the browser"] = plain(run, "/v1/auth/whoami", **cookie)
    assert b"browser" in run.answers["as the browser"]
    for name in ("personal key", "agent key", "anonymous token", "anonymous session", "link"):
        run.ask("GET", "/v1/auth/whoami", token=shown[name])
    run.ask("GET", f"/v1/status?token={quote(shown['personal key'])}&access_token={quote(shown['agent key'])}")
    run.ask("POST", "/v1/auth/sign-in", {"token": link})


def look_into_processes(run: Run) -> None:
    """Workers while warm. The command that was given its credential by its environment has it, and only that one."""
    assert run.daemon.process is not None
    for child in psutil.Process(run.daemon.process.pid).children(recursive=True):
        line = " ".join(child.cmdline())
        if "key_server.py" not in line:
            run.memory[child.pid] = run.canaries.in_memory(child.pid)
            run.children[f"environment of {child.pid}"] = Path(f"/proc/{child.pid}/environ").read_bytes()
        run.children[f"arguments of {child.pid}"] = line.encode()


def crash(run: Run) -> None:
    """Killed while a credential is on its way, and backed up before and after."""
    [stalled] = [path for path in paths_of(run, "static") if re.search("stalled_?[hH]eader$", path)]
    before = len(run.service.seen)
    view = run.execute(f'return await tools["{stalled}"]({{}})', wait=0)
    ends = 3000
    while len(run.service.seen) == before and (ends := ends - 1):
        run.ask("GET", "/v1/status")
    assert len(run.service.seen) > before
    shutil.copytree(run.daemon.data_dir, run.root / "backup of a running daemon")
    run.daemon.kill()
    shutil.copytree(run.daemon.data_dir, run.root / "backup after the crash")
    run.daemon.start()
    run.ask("POST", f"/v1/executions/{view['executionId']}/cancel", {})


def read_everything(run: Run) -> None:
    """Every GET route, with every id there is."""
    document = run.ask("GET", "/v1/openapi.json")
    ids = {
        "execution_id": [one["executionId"] for one in run.ask("GET", "/v1/executions?limit=200")["items"]],
        "interaction_id": [one["id"] for one in run.ask("GET", "/v1/interactions?limit=200")["items"]],
        "source": ["leaky", "static", "child", "login"],
        "path": paths_of(run, "leaky")[:5] + paths_of(run, "static")[:5] + paths_of(run, "child"),
        "policy_id": [one["id"] for one in run.ask("GET", "/v1/policies")["items"]],
        "connection_id": [one["id"] for one in run.ask("GET", "/v1/connections")["items"]],
    }
    for path, item in document["paths"].items():
        names = re.findall(r"\{(\w+)", path)
        if "get" not in item or not path.startswith("/v1/"):
            continue
        for found in ids.get(names[0], ["x"]) if names else [""]:
            target = re.sub(r"\{[^}]+\}", lambda match, found=found: quote(found), path)  # type: ignore[misc]
            read_one(run, target)
    for target in ("/v1/events?limit=1000", "/v1/audit?limit=1000", "/v1/audit/export"):
        read_one(run, target)


def read_one(run: Run, target: str) -> None:
    request = urllib.request.Request(
        f"{run.daemon.url}{target}", headers={"Authorization": f"Bearer {run.daemon.token()}"}
    )
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=60) as answer:
            run.answers[f"GET {target}"] = answer.read()
    except urllib.request.HTTPError as error:
        with error:
            run.answers[f"GET {target}"] = error.read()
