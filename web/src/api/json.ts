// JSON as it was written. A number that a browser would write differently keeps its own digits: 9007199254740993, 1.0,
// -0 and 1e400 are shown, compared and sent on as they came.

/** Such a number. It counts like any other; `text` is how it was written. */
export class Written extends Number {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }

  override toString(): string {
    return this.text;
  }
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const QUOTE = 34;

/** Throws SyntaxError, as `JSON.parse` does. */
export function parse(text: string): unknown {
  const mark = `${crypto.getRandomValues(new Uint32Array(4)).join("-")}:`;
  let kept = false;
  const marked = text.replace(TOKENS, (token) => {
    if (token.charCodeAt(0) === QUOTE || String(Number(token)) === token) return token;
    kept = true;
    return `"${mark}${token}"`;
  });
  if (!kept) return JSON.parse(text);
  JSON.parse(text); // what is no JSON is refused before any mark makes it look like some
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? new Written(value.slice(mark.length)) : value,
  );
}

/** What `parse` reads back as the same. */
export function write(value: unknown, indent = 0): string {
  return written(value, indent ? " ".repeat(indent) : "", "") ?? "null";
}

function written(value: unknown, step: string, before: string): string | undefined {
  if (value instanceof Written) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = before + step;
  const parts = Array.isArray(value)
    ? value.map((one) => written(one, step, inner) ?? "null")
    : Object.entries(value).flatMap(([name, one]) => {
        const text = written(one, step, inner);
        return text === undefined ? [] : [`${JSON.stringify(name)}:${step ? " " : ""}${text}`];
      });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (parts.length === 0) return `${open}${close}`;
  return step
    ? `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${before}${close}`
    : `${open}${parts.join(",")}${close}`;
}

/** An object or a list: something with parts. */
export function isNested(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !(value instanceof Written);
}

/** The first number in it that a browser, and TypeScript code, would round. */
export function rounded(value: unknown): string | undefined {
  if (value instanceof Written) {
    const exact =
      Number.isFinite(Number(value)) && (!/^-?\d+$/.test(value.text) || Number.isSafeInteger(Number(value)));
    return exact ? undefined : value.text;
  }
  if (!isNested(value)) return undefined;
  return Object.values(value)
    .map(rounded)
    .find((one) => one !== undefined);
}
