// Text of strangers, as it is: what would be invisible, would turn the line around or poses as another letter is shown
// by its number.
import { deceptive } from "./lookalikes";

const PLAIN = /^[\x20-\x7e]*$/;
const HIDDEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;
const MARK = /[\p{Mn}\p{Me}]/u;
const ASCII_LETTER = /[A-Za-z0-9]/;
// More marks than this on one letter cover its neighbours.
const MARKS = 3;

export function visible(text: string, keep = ""): string {
  if (PLAIN.test(text)) return text;
  return text
    .split("\n")
    .map((line) => shown(line, keep))
    .join(keep.includes("\n") ? "\n" : "\\n");
}

function shown(line: string, keep: string): string {
  if (PLAIN.test(line)) return line;
  const letters = [...line];
  const posing = deceptive(letters);
  let marks = MARKS;
  return letters
    .map((one, at) => {
      if (one < "\x80") marks = ASCII_LETTER.test(one) ? 0 : MARKS;
      else marks = MARK.test(one) ? marks + 1 : 0;
      if (keep.includes(one) || !(HIDDEN.test(one) || posing.has(at) || marks > MARKS)) return one;
      return one === "\t" ? "\\t" : `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`;
    })
    .join("");
}
