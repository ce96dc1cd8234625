// Against a real daemon with the sample API, found on this machine; tests/sdk/test_typescript.py starts it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import {
  approve,
  deny,
  ExecutionFailed,
  ExecutionPending,
  Executor,
  Forbidden,
  InvalidRequest,
  KeyReused,
  NotFound,
  PreconditionFailed,
  Unauthorized,
} from "../dist/index.js";

const URL_ = process.env.TEST_DAEMON_URL;
const DATA = process.env.EXECUTOR_DATA_DIR;
const CREATE = "return await tools.demo.invoices.createInvoice({customer: 'Ada', amount: 5})";
const tokenOf = async (kind) => (await readFile(join(DATA, `${kind}.token`), "utf8")).trim();
const executor = new Executor();

test("the daemon of this machine is found, with its token", async () => {
  const execution = await executor.run("return 1 + 1");
  assert.deepEqual([execution.status, execution.result, execution.isFinal], ["completed", 2, true]);
  assert.ok((await executor.status()).version);
});

test("an address and a token are enough", async () => {
  const agent = new Executor({ url: `${URL_}/`, token: await tokenOf("agent") });
  assert.equal((await agent.run("return 3")).result, 3);
  assert.equal((await new Executor({ url: URL_ }).run("return 4")).result, 4);
});

test("without a token, none is sent to another address", () => {
  assert.throws(() => new Executor({ url: "https://executor.example.com" }), InvalidRequest);
  for (const url of ["ftp://x", "nothing", "http://user:secret@x", "http://x/?a=1"]) {
    assert.throws(() => new Executor({ url, token: "t" }), /not an address/);
  }
});

test("a port that is not the daemon's gets no token", async () => {
  const other = new Executor({ url: "http://127.0.0.1:9" });
  await assert.rejects(other.status(), /a token is missing/);
});

test("many runs at once have their own results", async () => {
  const runs = await Promise.all([...Array(16).keys()].map((n) => executor.run(`return ${n}`)));
  assert.deepEqual(
    runs.map((one) => one.result),
    [...Array(16).keys()],
  );
});

test("integers beyond 2^53 keep their digits, both ways", async () => {
  const { result } = await executor.run("return [2**63 - 1, 7, -9007199254740993]", { language: "python" });
  assert.deepEqual(result, [9223372036854775807n, 7, -9007199254740993n]);
  const echo = "return await tools.demo.invoices.listInvoices({})";
  assert.equal(typeof (await executor.run(echo)).result.length, "number");
});

test("a tool is called by its path, and its failure is an error", async () => {
  const open = await executor.tools.demo.invoices.listInvoices({ status: "open" });
  assert.equal(open.length, 2);
  assert.equal((await executor.tools["demo.invoices"].getInvoice({ id: open[0].id })).id, open[0].id);
  await assert.rejects(executor.tools.demo.invoices.getInvoice({ id: "none" }), (error) => {
    assert.ok(error instanceof ExecutionFailed);
    assert.deepEqual([error.code, error.details.status], ["upstream_error", 404]);
    return true;
  });
  await assert.rejects(executor.tools.demo.none({}), { code: "unknown_tool" });
  await assert.rejects(executor.tools.demo.invoices.getInvoice({ id: Number.NaN }), /can't be expressed as JSON/);
});

test("code reaches the sandbox as it was written, and so do arguments", async () => {
  const odd = "quote ' \" back \\ line \n tab \t separator \u2028 \u{1F600} `";
  assert.equal((await executor.run(`return ${JSON.stringify(odd)}`)).result, odd);
  await assert.rejects(executor.tools.demo.invoices.getInvoice({ id: odd }), { code: "upstream_error" });
});

test("a call that needs approval says where to decide, and continues after the decision", async () => {
  const error = await executor.tools.demo.invoices.createInvoice({ customer: "Ada", amount: 5 }).catch((one) => one);
  assert.ok(error instanceof ExecutionPending);
  const [asked] = (await executor.executions.get(error.executionId)).interactions;
  assert.ok(error.hint.includes(asked.url) && asked.url.startsWith(URL_));
  assert.deepEqual([asked.kind, asked.effect, asked.arguments], ["approval", "write", { customer: "Ada", amount: 5 }]);
  await executor.interactions.approve(asked.id);
  assert.equal((await executor.wait(error.executionId)).result.customer, "Ada");
});

test("a callback approves, denies, or leaves it to someone else", async () => {
  const seen = [];
  const done = await executor.run(CREATE, {
    onInteraction: async (one) => {
      seen.push(one.tool);
      return approve();
    },
  });
  assert.deepEqual([done.status, seen], ["completed", ["demo.invoices.createInvoice"]]);
  const denied = await executor.run(CREATE, { onInteraction: () => deny("not this one") });
  assert.equal(denied.status, "failed");
  assert.match(denied.error.message, /not this one/);
  const left = await executor.run(CREATE, { onInteraction: () => undefined });
  assert.deepEqual([left.status, left.interactions.length], ["paused", 1]);
  assert.equal((await executor.executions.cancel(left.id)).status, "cancelled");
});

test("two writes at once are decided one by one", async () => {
  const code = `return (await Promise.all([1, 2].map((amount) =>
    tools.demo.invoices.createInvoice({customer: "Bo", amount})))).length`;
  const done = await executor.run(code, { onInteraction: () => approve() });
  assert.deepEqual([done.status, done.result], ["completed", 2]);
});

test("the same key finds the same execution, and never runs other code", async () => {
  const first = await executor.submit("return 1", { idempotencyKey: "ts-1" });
  assert.equal((await executor.run("return 1", { idempotencyKey: "ts-1" })).id, first.id);
  await assert.rejects(executor.submit("return 2", { idempotencyKey: "ts-1" }), KeyReused);
});

test("events are streamed until the end", async () => {
  const execution = await executor.submit("console.log('hello'); return 1");
  const types = [];
  for await (const event of executor.stream(execution)) types.push(event.type);
  assert.equal(types[0], "execution.created");
  assert.equal(types.at(-1), "execution.completed");
  const again = [];
  for await (const event of executor.stream(execution.id)) again.push(event.type);
  assert.deepEqual(again, types);
  assert.equal((await executor.executions.logs(execution.id))[0].text, "hello");
});

test("new events of the workspace are streamed until the reader leaves", async () => {
  const leaves = new AbortController();
  const stream = executor.events({ signal: leaves.signal });
  let event;
  const first = stream.next().then((next) => {
    event = next.value;
  });
  while (!event) await executor.run("return 1"); // events from before the stream was open are not its
  await first;
  assert.match(event.type, /^execution\./);
  leaves.abort();
  await assert.rejects(
    async () => {
      for await (const _ of stream);
    },
    { name: "AbortError" },
  );
});

test("waiting ends when the time is up or the caller gives up; the execution continues", async () => {
  const slow = "await new Promise((done) => setTimeout(done, 600000)); return 1";
  const running = await executor.run(slow, { waitMs: 50 });
  assert.equal(running.status, "running");
  await assert.rejects(executor.wait(running, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  assert.equal((await executor.executions.cancel(running.id)).status, "cancelled");
});

test("what failed has its code, and code that is wrong is not run", async () => {
  const failed = await executor.run("throw new Error('no')");
  assert.deepEqual([failed.status, failed.error.code], ["failed", "code_error"]);
  assert.throws(() => failed.raiseForStatus(), ExecutionFailed);
  await assert.rejects(executor.run(""), { code: "empty_code", status: 400 });
  await assert.rejects(executor.executions.get("exec_none"), NotFound);
});

test("tools are found and described", async () => {
  assert.equal((await executor.discover("list invoices")).bestPath, "demo.invoices.listInvoices");
  assert.match(String((await executor.describe("demo.invoices.listInvoices")).signature), /status/);
});

test("sources, policies, secrets and connections are administered", async () => {
  assert.deepEqual(
    (await executor.sources.list()).map((one) => one.namespace),
    ["demo"],
  );
  assert.equal((await executor.sources.tools({ prefix: "demo.invoices" })).items[0].source.startsWith("src_"), true);
  const policy = await executor.policies.add("demo.**", "deny", { effect: "destructive", note: "ts" });
  assert.equal((await executor.policies.get(policy.id)).note, "ts");
  assert.equal((await executor.policies.change(policy.id, { note: "other" })).note, "other");
  await assert.rejects(executor.policies.change(policy.id, { note: "late" }, { ifMatch: '"old"' }), PreconditionFailed);
  assert.equal((await executor.policies.test("demo.invoices.listInvoices")).action, "allow");
  await executor.policies.remove(policy.id);
  await executor.secrets.add("ts", "a value that is never shown");
  assert.ok(!JSON.stringify(await executor.secrets.list()).includes("never shown"));
  await executor.secrets.remove("ts");
  assert.deepEqual(await executor.connections.list(), []);
  assert.ok(Array.isArray((await executor.connections.ways("demo")).items));
});

test("an agent can neither decide nor administer", async () => {
  const agent = new Executor({ url: URL_, token: await tokenOf("agent") });
  await assert.rejects(agent.run(CREATE, { onInteraction: () => approve() }), Forbidden);
  await assert.rejects(agent.policies.add("**", "allow"), Forbidden);
});

test("a wrong token is refused and never shown", async () => {
  const token = `exa_${"x".repeat(43)}`;
  const error = await new Executor({ url: URL_, token }).run("return 1").catch((one) => one);
  assert.ok(error instanceof Unauthorized);
  const shown = [error.message, error.stack, error.hint, JSON.stringify(error.details), String(error.cause)];
  assert.ok(!shown.some((text) => text.includes(token)));
  const { inspect } = await import("node:util");
  assert.ok(!inspect(new Executor({ url: URL_, token }), { depth: 9, showHidden: true }).includes(token));
  for (const bad of ["a\r\nX: b", "a b", "ü"]) {
    assert.throws(
      () => new Executor({ url: URL_, token: bad }),
      (one) => !one.message.includes(bad),
    );
  }
});

test("the client is no promise, and neither are its tools", async () => {
  assert.equal(await executor, executor);
  assert.equal(typeof (await executor.tools.demo), "function");
});

test("a large result is kept as an artifact, with its bytes", async () => {
  const done = await executor.run("return 'x'.repeat(3_000_000)");
  assert.equal(done.result.length, 3_000_000);
  const bytes = await executor.artifacts.content(done.artifact.id);
  assert.equal(bytes.length, done.artifact.size);
});

test("a model gets text for results, failures and decisions", async () => {
  const { execute, parameters, description } = executor.executeFunction();
  assert.deepEqual(parameters.required, ["code"]);
  assert.match(description, /tools\.discover/);
  assert.equal(await execute({ code: "return {a: 1}" }), '{"a":1}');
  assert.match(await execute({ code: "throw new Error('no')" }), /"code":"code_error"/);
  assert.match(await execute({ code: CREATE }), /a person has to decide/);
});

test("a session is prompted and followed", async () => {
  const session = await executor.sessions.start("fake", { cwd: process.cwd(), isolation: "insulated" });
  const task = await executor.sessions.prompt(session.id, "hello", { waitMs: 120_000 });
  assert.equal(task.status, "completed");
  for await (const event of executor.sessions.stream(session.id)) {
    if (event.type === "message" && event.data.kind === "text") break;
  }
  assert.ok((await executor.sessions.agents()).some((one) => one.name === "fake"));
  await executor.sessions.delete(session.id);
  await assert.rejects(executor.sessions.get(session.id), NotFound);
});
