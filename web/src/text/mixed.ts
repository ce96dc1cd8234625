// Words that mix alphabets whose letters look alike: `pаypal` with one letter that is Cyrillic.
const LATIN = /\p{Script=Latin}/u;
const TWIN = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;
const WORDS = /[\p{L}\p{M}\p{N}_.-]+/gu;

/** Each such word, with its foreign letters by number. */
export function mixed(text: string): string[] {
  const found = new Set<string>();
  for (const [word] of text.matchAll(WORDS)) {
    if (!LATIN.test(word) || !TWIN.test(word)) continue;
    const numbers = [...word].filter((one) => TWIN.test(one)).map(numbered);
    found.add(`${word.slice(0, 60)} (${[...new Set(numbers)].slice(0, 5).join(", ")})`);
    if (found.size >= 5) break;
  }
  return [...found];
}

function numbered(letter: string): string {
  return `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
