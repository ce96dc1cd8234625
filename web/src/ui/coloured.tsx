import type { ReactNode } from "react";
import { visible } from "@/text/visible";

// Enough to distinguish words, values and comments; the playground's editor knows the languages, and is far larger.
const WORDS =
  "and|as|async|await|break|case|catch|class|const|continue|def|default|delete|do|elif|else|except|export|extends|finally|for|from|function|if|import|in|interface|is|lambda|let|new|not|of|or|pass|raise|return|switch|throw|try|type|typeof|while|with|yield";
const VALUES = "true|false|null|undefined|True|False|None";
const TEXT = /"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/.source;
const REST = `(?<text>${TEXT})|(?<value>\\b(?:\\d[\\d_.]*|${VALUES})\\b)|(?<word>(?<![.\\w])(?:${WORDS})\\b)`;
const PARTS = {
  python: new RegExp(`(?<remark>#[^\\n]*)|${REST}`, "g"),
  typescript: new RegExp(`(?<remark>//[^\\n]*|/\\*[\\s\\S]*?\\*/)|${REST}`, "g"),
};
const LOOKS: Record<string, string> = {
  remark: "text-dim italic",
  text: "text-ok",
  value: "text-warn",
  word: "text-accent",
};
const LARGEST = 60_000;

/** Each line of the code, as text with colours. All of it may come from a stranger. */
export function coloured(code: string, language: string): ReactNode[] {
  if (code.length > LARGEST) return code.split("\n").map((line) => shown(line));
  const lines: ReactNode[][] = [[]];
  const add = (text: string, look?: string) =>
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      const line = lines.at(-1) ?? [];
      if (part)
        line.push(
          look ? (
            <span key={line.length} className={look}>
              {shown(part)}
            </span>
          ) : (
            shown(part)
          ),
        );
    });
  let last = 0;
  for (const found of code.matchAll(PARTS[language === "python" ? "python" : "typescript"])) {
    const kind = Object.entries(found.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "";
    add(code.slice(last, found.index));
    add(found[0], LOOKS[kind]);
    last = found.index + found[0].length;
  }
  add(code.slice(last));
  return lines;
}

const shown = (text: string) => visible(text, "\t");

export const isBlank = (line: ReactNode) => !line || (Array.isArray(line) && line.length === 0);
