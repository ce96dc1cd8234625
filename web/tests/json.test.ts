import { expect, test } from "vitest";
import { isNested, parse, rounded, Written, write } from "@/api/json";

test.each(["9007199254740993", "1.0", "-0", "1e400", "0.1000", "123456789012345678901234567890"])(
  "%s is written as it was read",
  (number) => {
    expect(write(parse(number))).toBe(number);
    expect(write(parse(`{"a":[${number}]}`))).toBe(`{"a":[${number}]}`);
  },
);

test("digits inside a text are no number", () => {
  const text = '{"a":"1.0","b":"say \\"2.0\\" twice"}';
  expect(parse(text)).toEqual({ a: "1.0", b: 'say "2.0" twice' });
  expect(write(parse(text))).toBe(text);
});

test.each(["", "{", "[1.0", "1.0.0", "NaN", "01.0", "'a'"])("%j is refused", (text) => {
  expect(() => parse(text)).toThrow(SyntaxError);
});

test("writing lays out objects and lists, and leaves out what is undefined", () => {
  expect(write({ a: 1, b: undefined, c: [] })).toBe('{"a":1,"c":[]}');
  expect(write({ a: [1, { b: 2 }] }, 2)).toBe(JSON.stringify({ a: [1, { b: 2 }] }, null, 2));
});

test("a number that a browser would round is found wherever it is", () => {
  expect(rounded(parse('{"a":[{"b":9007199254740993}]}'))).toBe("9007199254740993");
  expect(rounded(parse("1e400"))).toBe("1e400");
  expect(rounded(parse('{"a":[1.0,0.10,9007199254740991]}'))).toBeUndefined();
});

test("a number with its own digits has no parts", () => {
  expect(isNested(new Written("1.0"))).toBe(false);
  expect(isNested(null)).toBe(false);
  expect(isNested([])).toBe(true);
});
