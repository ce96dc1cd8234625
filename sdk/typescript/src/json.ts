// JSON whose integers keep their digits: one beyond 2^53 is read as a bigint, and a bigint is written as a number.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d{16,}$/;

/** Throws SyntaxError, as `JSON.parse` does. */
export function parse(text: string): unknown {
  const mark = newMark();
  let kept = false;
  const marked = text.replace(TOKENS, (token) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    kept = true;
    return `"${mark}${token}"`;
  });
  const plain: unknown = JSON.parse(text); // what is not JSON is refused before a mark makes it look like some
  if (!kept) return plain;
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Throws TypeError for what JSON does not have, such as NaN: it would become something else. */
export function write(value: unknown): string {
  const mark = newMark();
  let kept = false;
  const text = JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "number" && !Number.isFinite(one)) throw new TypeError(`${one} can't be expressed as JSON`);
    if (typeof one !== "bigint") return one;
    kept = true;
    return `${mark}${one}`;
  });
  if (text === undefined) throw new TypeError(`${typeof value} can't be expressed as JSON`);
  return kept ? text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") : text;
}

/** Text that no one can have written before: it is made for one value. */
function newMark(): string {
  return `${crypto.randomUUID()}:`;
}
