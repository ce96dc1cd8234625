// How a call is written in code and in a terminal.
import { parse, write } from "@/api/json";

const NAME = /^[A-Za-z_$][\w$]*$/;
const CONTROL = /(?![\n\t])\p{Cc}/u;
const CONTROL_EACH = new RegExp(CONTROL, "gu");

export function reference(path: string): string {
  return path.split(".").reduce((made, part) => made + (NAME.test(part) ? `.${part}` : `[${write(part)}]`), "tools");
}

export function callCode(path: string, args: unknown): string {
  return `return await ${reference(path)}(${write(args, 2)})`;
}

/** What `callCode` was given; undefined for any other code. */
export function calledWith(path: string, code: string): unknown {
  const before = `return await ${reference(path)}(`;
  if (!code.startsWith(before) || !code.endsWith(")")) return undefined;
  try {
    return parse(code.slice(before.length, -1));
  } catch {
    return undefined;
  }
}

/** As one word of a shell. A terminal acts on control characters of what is pasted, whatever quotes are around them. */
export function quoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (!CONTROL.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text.replace(/[\\']/g, "\\$&").replace(CONTROL_EACH, numbered);
  return `$'${escaped}'`;
}

function numbered(one: string): string {
  return `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function command(...words: string[]): string {
  return ["executor", ...words.map(quoted)].join(" ");
}
