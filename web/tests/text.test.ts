import { describe, expect, test } from "vitest";
import { callCode, calledWith, command, quoted, reference } from "@/text/code";
import { cut } from "@/text/cut";
import { deceptive } from "@/text/lookalikes";
import { mixed } from "@/text/mixed";
import { size } from "@/text/size";
import { between, duration, relative } from "@/text/time";
import { visible } from "@/text/visible";

describe("code", () => {
  test("a path is written as code names it", () => {
    expect(reference("github.issues.list")).toBe("tools.github.issues.list");
    expect(reference("a.b-c.1d")).toBe('tools.a["b-c"]["1d"]');
  });

  test("what a call was given is read back from its code, and from no other", () => {
    const given = { a: [1, "x"], b: { c: null } };
    expect(calledWith("a.b", callCode("a.b", given))).toEqual(given);
    expect(calledWith("a.c", callCode("a.b", given))).toBeUndefined();
    expect(calledWith("a.b", "return await tools.a.b(1); evil()")).toBeUndefined();
  });

  test("a word of a shell stays one word", () => {
    expect(quoted("plain/word.txt")).toBe("plain/word.txt");
    expect(quoted("a b; rm -rf ~")).toBe("'a b; rm -rf ~'");
    expect(quoted("it's")).toBe("'it'\\''s'");
    expect(quoted("$(id)`id`")).toBe("'$(id)`id`'");
    expect(quoted("")).toBe("''");
  });

  test("control characters do not reach a terminal", () => {
    const word = quoted("a\u001b[2Jb\r'c\\");
    expect(word).toBe("$'a\\u001b[2Jb\\u000d\\'c\\\\'");
    expect(command("call", "1 + 1")).toBe("executor call '1 + 1'");
  });
});

describe("text of strangers", () => {
  test("plain text is left alone", () => {
    for (const text of ["plain", "Grüße aus Köln", "日本語", "naïve café"]) expect(visible(text)).toBe(text);
  });

  test("what would be invisible or turn the line around is shown by its number", () => {
    expect(visible("a\u200bb")).toBe("a\\u{200b}b");
    expect(visible("a\u202eb")).toBe("a\\u{202e}b");
    expect(visible("a\u00a0b\tc")).toBe("a\\u{a0}b\\tc");
  });

  test("new lines are kept only where they are wanted", () => {
    expect(visible("é\nb")).toBe("é\\nb");
    expect(visible("é\nb", "\n")).toBe("é\nb");
  });

  test("marks that would cover the neighbours are shown by their number", () => {
    expect(visible(`e${"\u0301".repeat(2)}`)).not.toContain("\\u");
    expect(visible(`e${"\u0301".repeat(9)}`)).toContain("\\u{301}");
  });

  test("a Cyrillic letter in a Latin word is found, and a Russian word is not", () => {
    expect(visible("p\u0430ypal")).toBe("p\\u{430}ypal");
    expect(visible("привет")).toBe("привет");
    expect([...deceptive([..."p\u0430ypal"])]).toEqual([1]);
    expect(mixed("p\u0430ypal and привет")).toEqual(["p\u0430ypal (U+0430)"]);
  });
});

describe("amounts", () => {
  test("bytes", () => {
    expect([0, 999, 1000, 1_540, 123_456, 2_500_000, 7e12].map(size)).toEqual([
      "0 bytes",
      "999 bytes",
      "1.0 kB",
      "1.5 kB",
      "123 kB",
      "2.5 MB",
      "7000 GB",
    ]);
  });

  test("times", () => {
    expect([-5, 0.4, 999, 1500, 61_000, 5_400_000].map(duration)).toEqual([
      "0 ms",
      "0 ms",
      "999 ms",
      "1.5 s",
      "1 min 1 s",
      "1.5 h",
    ]);
    const now = Date.parse("2026-01-02T00:00:00Z");
    expect(relative("2026-01-02T00:00:00.400Z", now)).toBe("now");
    expect(relative("2026-01-01T00:00:00Z", now)).toBe("yesterday");
    expect(between("2026-01-01T23:59:00Z", null, now)).toBe(60_000);
  });

  test("a text that is cut says how much is missing", () => {
    expect(cut("abc", 3)).toBe("abc");
    expect(cut("abcdef", 2)).toMatch(/^ab… .*4/);
  });
});
