// From a JSON Schema to the controls of a form, and from what was typed to arguments.
import { describe, expect, test } from "vitest";
import { collect, INEXACT } from "@/pages/sources/form/collect";
import { type Draft, fieldsOf, initialFields, shapeOf } from "@/pages/sources/form/shape";
import type { Schema } from "@/pages/sources/schema";

const kindOf = (schema: Schema, root: Schema = {}, depth = 0) => shapeOf(schema, root, "name", depth).kind;
const filled = (root: Schema, drafts: { [name: string]: Draft }) => collect(fieldsOf(root), drafts, root);

describe("controls", () => {
  test("each type has one", () => {
    expect(kindOf({ type: "string" })).toBe("text");
    expect(kindOf({ type: "integer" })).toBe("number");
    expect(kindOf({ type: "boolean" })).toBe("choice");
    expect(kindOf({ enum: ["a", 1] })).toBe("choice");
    expect(kindOf({ type: "array", items: { type: "string" } })).toBe("list");
    expect(kindOf({ type: "object", properties: { a: {} } })).toBe("object");
  });

  test("what has no plain one is written as JSON", () => {
    expect(kindOf({})).toBe("json");
    expect(kindOf({ type: "array" })).toBe("json");
    expect(kindOf({ anyOf: [{ type: "string" }, { type: "number" }] })).toBe("json");
  });

  test("a reference is followed, and a circle ends", () => {
    const root: Schema = { $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } } };
    expect(kindOf({ $ref: "#/$defs/Node" }, root)).toBe("object");
    expect(kindOf({ $ref: "#/$defs/Node" }, root, 4)).toBe("json");
    expect(kindOf({ $ref: "#/$defs/A" }, { $defs: { A: { $ref: "#/$defs/A" } } })).toBe("json");
  });

  test("required fields come first, and those that only the service writes are left out", () => {
    const schema: Schema = { properties: { a: {}, b: {}, id: { readOnly: true } }, required: ["b"] };
    expect(fieldsOf(schema).map(({ name, required }) => [name, required])).toEqual([
      ["b", true],
      ["a", false],
    ]);
  });

  test("a form starts with the example, as it would have been typed", () => {
    const root: Schema = {
      properties: {
        n: { type: "integer" },
        on: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
      },
    };
    expect(initialFields(fieldsOf(root), root, { n: 5, on: false, tags: ["a"] })).toEqual({
      n: "5",
      on: "1",
      tags: ["a"],
    });
  });
});

describe("arguments", () => {
  const root: Schema = {
    properties: {
      title: { type: "string", minLength: 2, maxLength: 5 },
      count: { type: "integer", minimum: 1, exclusiveMaximum: 10 },
      state: { enum: ["open", "closed"] },
      tags: { type: "array", items: { type: "string" } },
      extra: {},
      owner: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
    },
    required: ["title"],
  };

  test("what was typed becomes values of the right type", () => {
    const drafts = { title: "abc", count: "3", state: "1", tags: ["x"], extra: '{"a":1.0}', owner: { id: "7" } };
    const { value, problems } = filled(root, drafts);
    expect(problems).toEqual({});
    expect(JSON.parse(JSON.stringify(value))).toMatchObject({
      title: "abc",
      count: 3,
      state: "closed",
      tags: ["x"],
      owner: { id: 7 },
    });
  });

  test("what was left empty is left out, unless it is required", () => {
    expect(filled(root, { title: "abc", count: "", tags: undefined })).toEqual({
      value: { title: "abc" },
      problems: {},
    });
    expect(Object.keys(filled(root, {}).problems)).toEqual(["title"]);
  });

  test.each([
    ["title", "a"],
    ["title", "abcdef"],
    ["count", "0"],
    ["count", "10"],
    ["count", "1.5"],
    ["count", "many"],
    ["extra", "{"],
  ])("%s does not take %j", (name, typed) => {
    expect(Object.keys(filled(root, { title: "abc", [name]: typed }).problems)).toEqual([name]);
  });

  test("a problem inside an object or a list says where", () => {
    const drafts = { title: "abc", owner: { id: "x" } };
    expect(Object.keys(filled(root, drafts).problems)).toEqual(["owner.id"]);
  });

  test("a number that could not be sent exactly is refused", () => {
    expect(filled(root, { title: "abc", count: "9007199254740993" }).problems).toEqual({ count: INEXACT });
    expect(filled(root, { title: "abc", extra: "[9007199254740993]" }).problems).toEqual({ extra: INEXACT });
  });

  test("a pattern is checked here only if that can't take for ever", () => {
    const tried = (pattern: string, typed: string) =>
      Object.keys(filled({ properties: { a: { type: "string", pattern } } }, { a: typed }).problems).length;
    expect(tried("^a+$", "b")).toBe(1);
    expect(tried("^(a+)+$", "b")).toBe(0);
    expect(tried("(?<", "b")).toBe(0);
  });
});
