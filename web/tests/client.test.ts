// The one way to `/v1`. That an address, its body and its answer belong together is checked by the compiler.
import { afterEach, expect, test, vi } from "vitest";
import { get, Problem, patch, post, query, remove } from "@/api/client";
import { Written } from "@/api/json";

const sent = vi.fn<typeof fetch>();
vi.stubGlobal("fetch", sent);
afterEach(() => sent.mockReset());

const answer = (body: string, status = 200) => new Response(status === 204 ? null : body, { status });

test("an answer keeps the digits of its numbers", async () => {
  sent.mockResolvedValue(answer('{"items":[{"id":9007199254740993}]}'));
  const { items } = await get("/v1/keys");
  expect(String(items[0]?.id)).toBe("9007199254740993");
});

test("what is sent keeps its digits too, and says that it is JSON", async () => {
  sent.mockResolvedValue(answer("{}"));
  await post("/v1/policies/test", { path: "a.b", arguments: { n: new Written("1.0") } });
  const [address, { method, body, headers } = {}] = sent.mock.calls[0] ?? [];
  expect([address, method, body]).toEqual(["/v1/policies/test", "POST", '{"path":"a.b","arguments":{"n":1.0}}']);
  expect(headers).toMatchObject({ "Content-Type": "application/json" });
});

test("without content there is no value, and nothing is sent along", async () => {
  sent.mockResolvedValue(answer("", 204));
  expect(await remove(`/v1/keys/${"key_1"}`)).toBeUndefined();
  expect(sent.mock.calls[0]?.[1]).toMatchObject({ method: "DELETE", body: undefined });
});

test("a problem is thrown with its code and hint, also one that is no JSON", async () => {
  sent.mockResolvedValueOnce(answer('{"detail":"no","code":"forbidden","hint":"ask"}', 403));
  await expect(patch("/v1/separation", { separation: "off" })).rejects.toMatchObject({
    message: "no",
    code: "forbidden",
    hint: "ask",
    status: 403,
  });
  sent.mockResolvedValueOnce(answer("<h1>Bad gateway</h1>", 502));
  await expect(get("/v1/keys")).rejects.toMatchObject({ status: 502, code: "unknown" });
});

test("a daemon that can't be reached is a problem, and a request that was given up is none", async () => {
  sent.mockRejectedValueOnce(new TypeError("failed to fetch"));
  await expect(get("/v1/keys")).rejects.toMatchObject({ status: 0, code: "unreachable" });
  const ended = new AbortController();
  ended.abort();
  sent.mockRejectedValueOnce(new DOMException("aborted", "AbortError"));
  await expect(get("/v1/keys", ended.signal)).rejects.not.toBeInstanceOf(Problem);
});

test("a query string has what is given, lists once for each", () => {
  expect(query({})).toBe("");
  expect(query({ a: undefined, b: "", c: 0, d: false, e: ["x y", "&"] })).toBe("?c=0&d=false&e=x+y&e=%26");
});

/** Never called: these lines must not compile. */
void [
  // @ts-expect-error There is no such address.
  () => get("/v1/nothing"),
  // @ts-expect-error It can't be deleted.
  () => remove("/v1/keys"),
  // @ts-expect-error Its body has no such field.
  () => post("/v1/policies/test", { paths: "a.b" }),
  // @ts-expect-error Its answer has no such field.
  async () => (await get(`/v1/executions/${"exe_1"}/calls`)).status,
];
