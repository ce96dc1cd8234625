import { expect, test } from "vitest";
import type { Toolkit } from "@/api/types";
import { commandOf, draftOf, linesOf, policiesOf } from "@/pages/toolkits/draft";

type Policy = Toolkit["policies"][number];

const policy = (pattern: string, action: Policy["action"], more: Partial<Policy> = {}): Policy => ({
  ...{ pattern, action, conditions: [], effect: null, note: "", text: "" },
  ...more,
});

const kit = (...policies: Policy[]) =>
  ({
    slug: "kit",
    name: "kit",
    description: "",
    patterns: ["a.*", "b.**"],
    passThrough: [],
    policies,
  }) as unknown as Toolkit;

test("patterns are read line by line, also where people wrote commas", () => {
  expect(linesOf(" a.* \n\n b.** , c ")).toEqual(["a.*", "b.**", "c"]);
});

test("a toolkit that nobody touched is sent as it was", () => {
  const conditional = policy("a.x", "require_approval", { effect: "write" });
  const one = kit(policy("a.y", "deny"), conditional, policy("b.**", "require_approval"));
  const sent = policiesOf(draftOf(one), one);
  expect(sent.map(({ pattern, action, effect }) => [pattern, action, effect])).toEqual([
    ["a.y", "deny", null],
    ["a.x", "require_approval", "write"],
    ["b.**", "require_approval", null],
  ]);
  expect(draftOf(one)).toMatchObject({ name: "", patterns: "a.*\nb.**", deny: "a.y", ask: "b.**" });
});

test("the command says everything that the form does", () => {
  const draft = { ...draftOf(), slug: "kit", patterns: "a.*", deny: "a.x", passThrough: "a.y", name: "A kit" };
  expect(commandOf(draft)).toBe("executor toolkits add kit 'a.*' --deny a.x --pass-through a.y --name 'A kit'");
});
