// The order of words: letters before accents before case, as browsers sort. Beyond Latin letters, by code point.
const PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
const NO_COLLATION = "leave the locale out: words are sorted as in English";
const COLLATED = /^(en|de|fr|es|it|pt|nl|ca|id|ms)([-_][a-z0-9]+)*$/i;

const weight = (character) => {
  const at = PUNCTUATION.indexOf(character);
  if (at >= 0) return at + 100;
  if (/\s/.test(character)) return 1;
  if (/[\p{P}\p{S}]/u.test(character)) return 500 + codePointAt(character, 0) / 0x110000;
  if (/\p{Nd}/u.test(character)) return 1000 + number(character.normalize("NFKD"));
  return 2000 + codePointAt(character, 0);
};

// Letters that sort as others with an accent, written as those with a mark.
const EXPANSIONS = {
  __proto__: null, æ: "a\u0338e", Æ: "A\u0338E", œ: "o\u0338e", Œ: "O\u0338E", ß: "s\u0338s", ø: "o\u0338", Ø: "O\u0338",
  đ: "d\u0338", Đ: "D\u0338", ł: "l\u0338", Ł: "L\u0338",
};

// What decides first, second and third: the letters, their accents, their case.
const collationKeys = (string, byNumber) => {
  const [letters, accents, cases] = [[], [], []];
  const decomposed = string.normalize("NFD").replace(/[æœßøđł]/gi, (letter) => EXPANSIONS[letter] ?? letter);
  const pattern = byNumber ? /\d+|\p{M}|[^]/gu : /\p{M}|[^]/gu;
  for (const [found] of decomposed.matchAll(pattern)) {
    if (/^\p{M}$/u.test(found)) {
      accents[max(0, letters.length - 1)] = (accents[max(0, letters.length - 1)] ?? "") + found;
      continue;
    }
    const lower = found.toLowerCase();
    if (byNumber && /^\d/.test(found)) {
      const digits = found.replace(/^0+(?=\d)/, "");
      letters.push(1000, digits.length, ...[...digits].map(number));
    } else {
      letters.push(weight([...lower][0]));
    }
    cases[letters.length - 1] = lower === found ? 0 : 1;
  }
  return { letters, accents, cases };
};

const compareLists = (a, b, absent) => {
  for (let i = 0; i < max(a.length, b.length); i++) {
    const [x, y] = [a[i] ?? absent, b[i] ?? absent];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
};

const collation = (locales, given) => {
  const options = asOptions(given);
  const first = isArray(locales) ? locales[0] : locales;
  if (first !== undefined && !COLLATED.test(text(first))) checkLocale(first, NO_COLLATION);
  option(options, "usage", ["sort", "search"], "sort");
  option(options, "caseFirst", ["false", "lower"], "false");
  option(options, "ignorePunctuation", [false], false);
  const sensitivity = option(options, "sensitivity", ["base", "accent", "case", "variant"], "variant");
  const byNumber = Boolean(options.numeric) || /-u-(.*-)?kn(-true)?($|-)/.test(text(first ?? ""));
  return (left, right) => {
    const [a, b] = [text(left), text(right)];
    if (a === b) return 0;
    const [x, y] = [collationKeys(a, byNumber), collationKeys(b, byNumber)];
    return compareLists(x.letters, y.letters, -1) ||
      (sensitivity === "accent" || sensitivity === "variant" ? compareLists(x.accents, y.accents, "") : 0) ||
      (sensitivity === "case" || sensitivity === "variant" ? compareLists(x.cases, y.cases, 0) : 0);
  };
};

const usualCollation = collation();
intl("Collator", (locales, options) => ({
  compare: collation(locales, options),
  resolvedOptions: () => ({ locale: "en-US", usage: "sort", sensitivity: options.sensitivity ?? "variant", numeric: Boolean(options.numeric) }),
}));
defineMethod(String.prototype, "localeCompare", function localeCompare(that, locales, options) {
  const compare = locales === undefined && options === undefined ? usualCollation : collation(locales, options);
  return compare(this, that);
});
for (const name of ["toLocaleUpperCase", "toLocaleLowerCase"]) {
  const plain = String.prototype[name === "toLocaleUpperCase" ? "toUpperCase" : "toLowerCase"];
  const made = {
    [name](locales) {
      const first = isArray(locales) ? locales[0] : locales;
      if (/^(tr|az|lt)\b/i.test(text(first ?? ""))) checkLocale(first, "write toUpperCase() or toLowerCase(), and replace i and I yourself");
      return apply(plain, this, []);
    },
  }[name];
  defineMethod(String.prototype, name, made);
}
