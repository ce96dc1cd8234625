import { describe, expect, test } from "vitest";
import type { SessionMessage } from "@/api/types";
import { editLines, splitDiff } from "@/pages/sessions/edit";
import { EMPTY, inOrder, withAppend, withRecords } from "@/pages/sessions/transcript";

const record = (id: string, sequence: number, more: Partial<SessionMessage> = {}) =>
  ({ id, sequence, position: sequence, kind: "text", text: id, data: {}, ...more }) as SessionMessage;

describe("a transcript", () => {
  test("shows records by their position, whenever they came", () => {
    const made = withRecords(EMPTY, [record("b", 2), record("a", 1)]);
    expect(inOrder(made).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(made.sequence).toBe(2);
  });

  test("replaces a record that comes again, and keeps the newer one", () => {
    const made = withRecords(EMPTY, [record("a", 1)]);
    const replaced = withRecords(made, [record("a", 5, { text: "new", position: 1 })]);
    expect(withRecords(replaced, [record("a", 3, { text: "late" })]).records.get("a")?.text).toBe("new");
  });

  test("adds text once, also when it is heard twice", () => {
    const made = withRecords(EMPTY, [record("a", 1)]);
    const more = withAppend(made, { id: "a", sequence: 2, text: "b" });
    expect(withAppend(more, { id: "a", sequence: 2, text: "b" }).records.get("a")?.text).toBe("ab");
    expect(withAppend(more, { id: "unknown", sequence: 3, text: "c" })).toBe(more);
  });
});

describe("an edit", () => {
  test("shows what changed with a few lines around it", () => {
    const before = ["1", "2", "3", "4", "5", "6", "7"].join("\n");
    expect(editLines(before, before.replace("4", "four"))).toEqual([
      "@ 1 lines above",
      " 2",
      " 3",
      "-4",
      "+four",
      " 5",
      " 6",
      "@ 1 lines below",
    ]);
  });

  test.each([
    [null, "a\nb", ["+a", "+b"]],
    ["a\nb", "", ["-a", "-b"]],
    ["a", "a", [" a"]],
    ["a\na", "a\na\na", [" a", " a", "+a"]],
    [null, "a\nb\n", ["+a", "+b"]],
    ["a\n", "a\nb\n", [" a", "+b"]],
    ["a\n", "a\n\n", [" a", "+"]],
    ["a", "a\n", [" a", "-\\ No newline at the end"]],
    ["a\n", "", ["-a"]],
  ])("from %j to %j", (before, after, lines) => {
    expect(editLines(before, after)).toEqual(lines);
  });
});

test("a diff is split by its files", () => {
  const diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\ndiff --git a/d e b/d e\n+new";
  expect(splitDiff(diff).map(({ path, lines }) => [path, lines.length])).toEqual([
    ["x", 5],
    ["d e", 1],
  ]);
  expect(splitDiff("")).toEqual([]);
});
