// What needs no daemon: numbers, events out of cut bytes, and what is sent again when connections break.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { DaemonUnreachable, Executor, parse, write } from "../dist/index.js";
import { EventReader } from "../dist/stream.js";

/** A server whose answers are those of a list: a body, or nothing for a connection that is cut. */
async function serve(t, answers) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers["idempotency-key"] ?? ""}`.trim());
    const next = answers.shift();
    if (next === undefined) return request.socket.destroy();
    response.writeHead(next.status ?? 200, { "Content-Type": "application/json", ...next.headers });
    response.end(JSON.stringify(next.body ?? {}));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

const VIEW = {
  executionId: "exec_1",
  status: "completed",
  result: 1,
  error: null,
  interactions: [],
  logs: [],
  diagnostics: [],
};

test("numbers are read and written without loss", () => {
  const text =
    '{"a":9007199254740993,"b":[1,-1.5,1e3,9007199254740991],"c":"9007199254740993","d":"\\"12345678901234567"}';
  const read = parse(text);
  assert.equal(read.a, 9007199254740993n);
  assert.deepEqual(read.b, [1, -1.5, 1000, 9007199254740991]);
  assert.deepEqual([read.c, read.d], ["9007199254740993", '"12345678901234567']);
  assert.equal(
    write({ ...read, b: 2n ** 70n }),
    '{"a":9007199254740993,"b":1180591620717411303424,"c":"9007199254740993","d":"\\"12345678901234567"}',
  );
  assert.throws(() => write({ a: Number.POSITIVE_INFINITY }), TypeError);
  assert.throws(() => parse("[1,]"), SyntaxError);
});

test("events are read from bytes that are cut anywhere", () => {
  const text = ': connected\n\nid: 7\nevent: a.b\ndata: {"x": "ä: b"}\n\n: heartbeat\n\nid: 8\nevent: c\ndata: 1\n\n';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < bytes.length; size++) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...reader.feed(bytes.slice(at, at + size)));
    assert.deepEqual(found, [
      { id: "7", type: "a.b", data: { x: "ä: b" } },
      { id: "8", type: "c", data: 1 },
    ]);
  }
});

test("a submission without an answer is sent again with the same key", async (t) => {
  const { url, requests } = await serve(t, [{}, undefined, undefined, { body: VIEW }]);
  const executor = new Executor({ url, token: "t" });
  await executor.status();
  assert.equal((await executor.run("return 1")).result, 1);
  assert.equal(requests.length, 4);
  assert.equal(new Set(requests.slice(1)).size, 1);
  assert.match(requests[1], /^POST \/v1\/executions [0-9a-f-]{36}$/);
});

test("what is not safe to repeat is sent once", async (t) => {
  const { url, requests } = await serve(t, [{}, undefined, { body: {} }]);
  const executor = new Executor({ url, token: "t" });
  await executor.status();
  await assert.rejects(executor.policies.change("pol_1", { action: "deny" }), DaemonUnreachable);
  assert.equal(requests.length, 2);
});

test("what is created is sent again with the same key, and found if it was created", async (t) => {
  const created = { status: 409, body: { code: "already_created", detail: "it was", id: "pol_1" } };
  const { url, requests } = await serve(t, [{}, undefined, created, { body: { id: "pol_1" } }]);
  const executor = new Executor({ url, token: "t" });
  await executor.status();
  assert.equal((await executor.policies.add("a.**", "deny")).id, "pol_1");
  assert.match(requests[1], /^POST \/v1\/policies [0-9a-f-]{36}$/);
  assert.deepEqual(requests.slice(2), [requests[1], "GET /v1/policies/pol_1"]);
});

test("a daemon that never answered is not waited for", async () => {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  const executor = new Executor({ url: `http://127.0.0.1:${port}`, token: "t" });
  await assert.rejects(
    executor.run("return 1"),
    (error) => error instanceof DaemonUnreachable && /no one answers/.test(error.message),
  );
});

test("one that stays away is not waited for forever", async (t) => {
  const { url, requests } = await serve(t, [{}]);
  const executor = new Executor({ url, token: "t", reconnectMs: 100 });
  await executor.status();
  await assert.rejects(executor.run("return 1"), DaemonUnreachable);
  assert.ok(requests.length > 1); // how often it was asked again depends on how busy the machine is
});

test("a busy daemon is asked again, if that is safe", async (t) => {
  const busy = { status: 503, body: { code: "busy", detail: "busy" } };
  const { url, requests } = await serve(t, [{}, busy, { body: VIEW }, busy]);
  const executor = new Executor({ url, token: "t" });
  await executor.status();
  assert.equal((await executor.run("return 1")).status, "completed");
  await assert.rejects(executor.secrets.add("a", "b"), { code: "busy" });
  assert.equal(requests.length, 4);
});

test("a redirect is refused: it could carry the token elsewhere", async (t) => {
  const { url, requests } = await serve(t, [{ status: 302, headers: { Location: "http://127.0.0.1:9/" } }]);
  await assert.rejects(new Executor({ url, token: "t" }).status(), DaemonUnreachable);
  assert.equal(requests.length, 1);
});

test("an answer that is not JSON is an error", async () => {
  const fetch = async () => new Response("<html>", { status: 200 });
  await assert.rejects(new Executor({ url: "http://x", token: "t", fetch }).status(), /not JSON/);
});
