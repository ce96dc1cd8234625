import { expect, test } from "vitest";
import { parse } from "@/api/json";
import { differences } from "@/text/differences";

test("equal values have none, in whatever order their fields are", () => {
  expect(differences({ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 })).toEqual({ found: [], more: 0 });
});

test("each place is named, with what was there before and what is there now", () => {
  const { found } = differences({ a: 1, b: [1, 2], gone: true }, { a: 2, b: [1, 3], added: null });
  expect(found).toEqual([
    { pointer: "/a", before: "1", after: "2" },
    { pointer: "/b/1", before: "2", after: "3" },
    { pointer: "/gone", before: "true", after: undefined },
    { pointer: "/added", before: undefined, after: "null" },
  ]);
});

test("a list and an object are different as a whole", () => {
  expect(differences([1], { 0: 1 }).found).toEqual([{ pointer: "/", before: "[1]", after: '{"0":1}' }]);
});

test("numbers are compared by their digits", () => {
  expect(differences(parse("[9007199254740992]"), parse("[9007199254740993]")).found).toHaveLength(1);
});

test("only the first thirty are listed, long values are cut, and the rest is counted", () => {
  const many = Object.fromEntries(Array.from({ length: 45 }, (_, at) => [`f${at}`, "x".repeat(1000)]));
  const { found, more } = differences({}, many);
  expect([found.length, more]).toEqual([30, 15]);
  expect(found[0]?.after?.length).toBeLessThan(300);
});
