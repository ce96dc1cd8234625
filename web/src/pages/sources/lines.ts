// A document as lines that can be shown one by one, however it is written.
import { parse, write } from "@/api/json";
import type { Part } from "./queries";

export const PRETTY = 2_000_000;
const LONGEST = 400;

/** JSON on one line is laid out if it is small enough; else, and in any other text, long lines are cut into pieces. */
export function linesOf(pages: readonly Pick<Part, "bytes" | "size" | "mediaType">[]): {
  lines: string[];
  formatted: boolean;
} {
  const decoder = new TextDecoder();
  const text = pages.map((part) => decoder.decode(part.bytes, { stream: true })).join("");
  const [first] = pages;
  const whole = first !== undefined && pages.length === 1 && first.bytes.length === first.size;
  const lines = text.split("\n");
  if (whole && first.mediaType === "application/json" && lines.some((line) => line.length > LONGEST)) {
    const laid = laidOut(text);
    if (laid) return { lines: laid.flatMap(pieces), formatted: true };
  }
  return { lines: lines.flatMap(pieces), formatted: false };
}

function laidOut(text: string): string[] | null {
  try {
    return write(parse(text), 2).split("\n");
  } catch {
    return null;
  }
}

function pieces(line: string): string[] {
  if (line.length <= LONGEST) return [line];
  const made: string[] = [];
  for (let at = 0; at < line.length; at += LONGEST) made.push(line.slice(at, at + LONGEST));
  return made;
}
