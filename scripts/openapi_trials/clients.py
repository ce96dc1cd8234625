"""Clients that public generators make from the document, used against the daemon that served it."""

from __future__ import annotations

import os
from pathlib import Path

from openapi_trials.packages import install_npm, install_pypi, npm_version, pypi_version, run
from tests.support.daemon import Daemon
from tests.support.packages import node

PYTHON = """
import os
from executor_client import AuthenticatedClient
from executor_client.api.executions import executions_create, executions_get, executions_list
from executor_client.api.interactions import interactions_approve
from executor_client.api.policies import policies_create, policies_delete, policies_list
from executor_client.api.tools import tools_search
from executor_client.models import Approve, NewExecution, NewPolicy, NewPolicyAction, Problem

CREATE = "return await tools.demo.invoices.createInvoice({customer: 'Ada', amount: 5})"
with AuthenticatedClient(base_url=os.environ["DAEMON"], token=os.environ["TOKEN"]) as client:
    done = executions_create.sync(client=client, body=NewExecution(code="return 1 + 1"), idempotency_key="generated")
    assert done.status == "completed" and done.result == 2, done
    again = executions_create.sync(client=client, body=NewExecution(code="return 1 + 1"), idempotency_key="generated")
    assert again.execution_id == done.execution_id
    assert tools_search.sync(client=client, query="list invoices").best_path == "demo.invoices.listInvoices"
    paused = executions_create.sync(client=client, body=NewExecution(code=CREATE))
    assert paused.status == "paused", paused
    interactions_approve.sync(paused.interactions[0].id, client=client, body=Approve())
    ended = executions_get.sync(paused.execution_id, client=client, wait=60)
    assert ended.status == "completed" and ended.result["customer"] == "Ada", ended
    assert {one.execution_id for one in executions_list.sync(client=client).items} >= {done.execution_id}
    added = policies_create.sync(client=client, body=NewPolicy(pattern="demo.**", action=NewPolicyAction.DENY))
    assert added.id in [one.id for one in policies_list.sync(client=client).items]
    policies_delete.sync_detailed(added.id, client=client)
    assert not policies_list.sync(client=client).items
    missing = executions_get.sync("exec_none", client=client)
    assert isinstance(missing, Problem) and missing.code == "not_found", missing
"""
TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const headers = { Authorization: `Bearer ${process.env.TOKEN}` };
const client = createClient<paths>({ baseUrl: process.env.DAEMON!, headers });

function check(condition: unknown, what: unknown): asserts condition {
  if (!condition) throw new Error(JSON.stringify(what));
}

const { data: done, error } = await client.POST("/v1/executions", { body: { code: "return 1 + 1" } });
check(done?.status === "completed" && done.result === 2, error);
const { data: found } = await client.GET("/v1/tools/search", { params: { query: { query: "list invoices" } } });
check(found?.bestPath === "demo.invoices.listInvoices", found);
const code = "return await tools.demo.invoices.createInvoice({customer: 'Bo', amount: 6})";
const { data: paused } = await client.POST("/v1/executions", { body: { code } });
check(paused?.status === "paused", paused);
const path = { interaction_id: paused.interactions[0]!.id };
await client.POST("/v1/interactions/{interaction_id}/approve", { params: { path }, body: { scope: "once" } });
const where = { path: { execution_id: paused.executionId }, query: { wait: 60 } };
const { data: ended } = await client.GET("/v1/executions/{execution_id}", { params: where });
check(ended?.status === "completed", ended);
const missing = await client.GET("/v1/executions/{execution_id}", { params: { path: { execution_id: "exec_none" } } });
check(missing.error?.code === "not_found", missing.error);
// @ts-expect-error: not a route
await client.GET("/v1/none").catch(() => undefined);
// @ts-expect-error: not a field
client.POST("/v1/executions", { body: { kode: "" } }).catch(() => undefined);
"""
COMPILER = """{"compilerOptions": {"target": "ES2022", "lib": ["ES2022", "DOM"], "module": "nodenext", "strict": true,
"types": ["node"], "skipLibCheck": true}, "files": ["trial.ts"]}"""


def python(folder: Path, document: Path, daemon: Daemon) -> str:
    binaries = install_pypi(folder, "openapi-python-client", "ruff")
    config = folder / "config.yaml"
    # Formats that no JSON is in. The generator otherwise leaves these two answers out, with a warning.
    config.write_text(
        "package_name_override: executor_client\nproject_name_override: executor-client\n"
        "content_type_overrides:\n  application/x-ndjson: text/plain\n  application/x-asciicast: text/plain\n",
        encoding="utf-8",
    )
    environ = {**os.environ, "PATH": os.pathsep.join([str(binaries), os.environ.get("PATH", "")])}
    generate = [
        binaries / "openapi-python-client",
        "generate",
        "--path",
        document,
        "--config",
        config,
        "--fail-on-warning",
    ]
    run([*generate, "--output-path", folder / "client"], folder, environ)
    secret = {**os.environ, "PYTHONPATH": str(folder / "client"), "DAEMON": daemon.url, "TOKEN": daemon.token()}
    run([binaries / "python", "-c", PYTHON], folder, secret)
    return f"{pypi_version(binaries, 'openapi-python-client')}: ran, approved and listed"


def typescript(folder: Path, document: Path, daemon: Daemon) -> str:
    modules = install_npm(folder, "openapi-typescript", "openapi-fetch", "typescript@5", "@types/node")
    options = ["--default-non-nullable", "false"]
    run([node(), modules / "openapi-typescript" / "bin" / "cli.js", document, "-o", "schema.ts", *options], folder)
    (folder / "trial.ts").write_text(TYPESCRIPT, encoding="utf-8")
    (folder / "tsconfig.json").write_text(COMPILER, encoding="utf-8")
    run([node(), modules / "typescript" / "bin" / "tsc"], folder)
    run([node(), "trial.js"], folder, {**os.environ, "DAEMON": daemon.url, "TOKEN": daemon.token()})
    fetch = npm_version(modules, "openapi-fetch")
    return f"{npm_version(modules, 'openapi-typescript')} with openapi-fetch {fetch}: compiled, ran and approved"
