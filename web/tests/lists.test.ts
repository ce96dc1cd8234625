// The tree of tools, the filters of executions, and what tells approvals apart.
import { describe, expect, test } from "vitest";
import type { Interaction } from "@/api/types";
import { differing, gist, grouped, isPlain } from "@/pages/approvals/gist";
import { placeOf } from "@/pages/approvals/place";
import { asked, count, listCommand, moment, statuses } from "@/pages/executions/filters";
import { namedIn } from "@/pages/executions/lines";
import { addCommand, changeCommand, type Draft } from "@/pages/policies/command";
import { browserName } from "@/pages/settings/browsers";
import { linesOf } from "@/pages/sources/lines";
import { freeNamespace } from "@/pages/sources/namespace";
import { type Listed, moved, named, parentOf, rows } from "@/pages/sources/rows";

describe("the tree of tools", () => {
  const tool = (path: string): Listed => ({ path, description: "", effect: "read" });
  const tools = ["gh.issues.list", "gh.issues.labels.add", "gh.repos.actions.runs.list", "gh.ping"].map(tool);
  const shown = rows(tools, new Set());

  test("groups are those of the paths, and a chain of single groups is one", () => {
    expect(shown.map((row) => [row.kind, row.label, row.depth])).toEqual([
      ["tool", "ping", 0],
      ["group", "issues", 0],
      ["tool", "list", 1],
      ["group", "labels", 1],
      ["tool", "add", 2],
      ["group", "repos.actions.runs", 0],
      ["tool", "list", 1],
    ]);
    expect(shown.flatMap((row) => (row.kind === "group" ? [row.count] : []))).toEqual([2, 1, 1]);
  });

  test("a closed group hides what is in it, and still says how much", () => {
    const closed = rows(tools, new Set(["issues"]));
    expect(closed.map((row) => row.label)).toEqual(["ping", "issues", "repos.actions.runs", "list"]);
    expect(closed[1]).toMatchObject({ count: 2, open: false });
  });

  test("keys move within the list and never beyond it", () => {
    expect(
      ["ArrowDown", "ArrowUp", "Home", "End", "PageDown", "PageUp", "x"].map((key) => moved(shown, 0, key)),
    ).toEqual([1, 0, 0, 6, 6, 0, null]);
    expect(moved(shown, 6, "ArrowDown")).toBe(6);
    expect([parentOf(shown, 4), parentOf(shown, 3), parentOf(shown, 0)]).toEqual([3, 1, 0]);
  });

  test("typing finds the next row that begins so, from the top again after the end", () => {
    expect(named(shown, 2, "l")).toBe(3);
    expect(named(shown, 6, "l")).toBe(2);
    expect(named(shown, 2, "li")).toBe(2);
    expect(named(shown, 0, "zz")).toBeNull();
  });
});

describe("filters of executions", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");

  test("times are ages or moments, and nothing else", () => {
    expect(moment("24h", now)).toBe(now - 86_400_000);
    expect(moment("2026-01-01T00:00Z", now)).toBe(now - 86_400_000);
    for (const text of ["", undefined, "soon", "24", "h", "-1h"]) expect(moment(text, now)).toBeUndefined();
  });

  test("unknown states are left out", () => {
    expect(statuses({ status: "failed,evil,queued" })).toEqual(["queued", "failed"]);
    expect(asked({ status: "failed", since: "1m", actor: "a" }, now)).toEqual({
      actor: "a",
      status: ["failed"],
      since: now - 60_000,
      until: undefined,
    });
  });

  test("the page that one is on is no filter", () => {
    expect(count({ before: "exe_1", actor: "a", tool: "" })).toBe(1);
  });

  test("the same list in a terminal", () => {
    expect(listCommand({ status: "failed,paused", text: "a b" })).toBe(
      "executor executions list --status paused --status failed --text 'a b'",
    );
  });
});

describe("approvals", () => {
  const ask = (given: Partial<Interaction>) =>
    ({ kind: "approval", tool: "a.b", actorId: "act_1", arguments: {}, ...given }) as Interaction;

  test("those that are alike in everything but their arguments are one group", () => {
    const items = [ask({ arguments: { n: 1 } }), ask({ actorId: "act_2" }), ask({ arguments: { n: 2 } })];
    expect(grouped(items).map((group) => group.items.length)).toEqual([2, 1]);
  });

  test.each([
    { host: "evil.example" },
    { connection: "other" },
    { effect: "destructive" },
    { source: "src_2" },
  ] as const)("%o is enough to stand alone", (other) => {
    expect(grouped([ask({}), ask(other)])).toHaveLength(2);
  });

  test("only plain calls are decided together", () => {
    expect(isPlain(ask({}))).toBe(true);
    expect(isPlain(ask({ tool: "executor.sources.add" }))).toBe(false);
    expect(isPlain(ask({ kind: "unknown_outcome" }))).toBe(false);
  });

  test("of several, only the arguments that differ are shown", () => {
    const [one, other] = [ask({ arguments: { to: "a", text: "x" } }), ask({ arguments: { to: "b", text: "x" } })];
    expect(gist(one, [one, other])).toBe('to: "a"');
    expect(gist(one)).toBe('to: "a", text: "x"');
    expect([...differing([one, other])]).toEqual(["to"]);
  });

  test("a tool is found in the code if one line alone names it", () => {
    expect(placeOf(["const a = 1", "await tools.a.b({})"], "a.b")).toBe(1);
    expect(placeOf(["tools.a.b()", "tools.a.b()"], "a.b")).toBeNull();
    expect(namedIn("tools.a.b()\nmytools.a.b()\ntools.a.bc()\ntools['a.b']", "a.b")).toEqual([1, 4]);
  });
});

describe("policies on a command line", () => {
  const draft: Draft = {
    pattern: "a.*",
    action: "deny",
    conditions: [
      { path: "to", test: "equals", value: "it's me" },
      { path: "n", test: "at_most", value: 5 },
      { path: "x", test: "matches", value: "^a$" },
    ],
    actor: "",
    source: "",
    effect: null,
    note: "why not",
    level: "workspace",
  };

  test("conditions are written as the command reads them, each one word", () => {
    expect(addCommand(draft, 2)).toBe(
      "executor policies add 'a.*' deny --when 'to=\"it'\\''s me\"' --when 'n<=5' --when 'x~^a$' --note 'why not' --position 2",
    );
  });

  test("a policy without conditions says so when it is changed", () => {
    expect(changeCommand("pol_1", { ...draft, conditions: [] })).toContain("--unconditional");
    expect(changeCommand("pol_1", draft)).not.toContain("--unconditional");
  });
});

describe("documents", () => {
  const page = (text: string, mediaType: string) => {
    const bytes = new TextEncoder().encode(text);
    return { bytes, size: bytes.length, mediaType };
  };

  test("JSON on one long line is laid out", () => {
    const { lines, formatted } = linesOf([page(JSON.stringify({ a: "x".repeat(500), b: 1 }), "application/json")]);
    expect(formatted).toBe(true);
    expect(lines.at(-2)).toBe('  "b": 1');
  });

  test("other long lines are cut into pieces, and nothing is lost", () => {
    const text = `${"x".repeat(900)}\nend`;
    const { lines, formatted } = linesOf([page(text, "text/plain")]);
    expect(formatted).toBe(false);
    expect(lines.map((line) => line.length)).toEqual([400, 400, 100, 3]);
  });

  test("a letter that two pages share is whole", () => {
    const bytes = new TextEncoder().encode("aé");
    const pages = [bytes.slice(0, 2), bytes.slice(2)].map((part) => ({
      bytes: part,
      size: 3,
      mediaType: "text/plain",
    }));
    expect(linesOf(pages).lines).toEqual(["aé"]);
  });
});

test("browsers are named in two words", () => {
  const safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.4 Safari/605.1.15";
  expect(browserName(safari)).toBe("Safari on macOS");
  expect(browserName("Mozilla/5.0 (Windows NT 10.0) Chrome/120.0 Safari/537.36 Edg/120.0")).toBe("Edge on Windows");
  expect(browserName("curl/8\u202e")).toBe("curl/8\\u{202e}");
  expect(browserName("")).not.toBe("");
});

test("a namespace that another source has is not offered", () => {
  expect(freeNamespace("shop", ["billing"])).toBe("shop");
  expect(freeNamespace("shop", ["shop", "shop2"])).toBe("shop3");
  expect(freeNamespace("", [""])).toBe("");
});
