// Text of strangers, as it is: what would be invisible, or would turn the line around, is shown by its number.
const HIDDEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

export function visible(text: string, keep = ""): string {
  return text.replace(HIDDEN, (found) => {
    if (keep.includes(found)) return found;
    if (found === "\n") return "\\n";
    if (found === "\t") return "\\t";
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
