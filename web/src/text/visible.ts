// Text of strangers, as it is: what would be invisible, or would turn the line around, is shown by its number.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\u00ad\u115f\u1160\u3164\uffa0]/gu;

export function visible(text: string, keep = ""): string {
  return text.replace(HIDDEN, (found) => {
    if (keep.includes(found)) return found;
    if (found === "\n") return "\\n";
    if (found === "\t") return "\\t";
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
