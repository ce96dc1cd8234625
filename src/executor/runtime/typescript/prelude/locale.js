// `Intl` and the `toLocale…` methods for US English in UTC. Anything else is refused: the engine has no data of other
// locales and time zones, and would give something wrong without a word.
defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });

const unavailable = (what, hint) => hinted(new RangeError(what + " is not available in the sandbox"), hint);

const checkLocale = (locales, hint) => {
  const first = isArray(locales) ? locales[0] : locales;
  if (first === undefined || /^en(-us)?$/i.test(text(first))) return;
  if (!/^[a-z]{2,3}([-_][a-z0-9]{2,8})*$/i.test(text(first))) throw new RangeError("Incorrect locale information provided");
  throw unavailable("the locale " + quote(text(first)), hint);
};

// One of `values`, or `fallback` if the option is not given.
const option = (options, name, values, fallback) => {
  const given = options[name];
  if (given === undefined) return fallback;
  if (!values.includes(given)) throw unavailable("the option " + name + ": " + shown(given), "use one of " + values.join(", "));
  return given;
};

const refuseOptions = (options, names, hint) => {
  for (const name of names) if (options[name] !== undefined) throw unavailable("the option " + name, hint);
};

const asOptions = (options) => (options === undefined ? {} : Object(options));
const supportedLocalesOf = (locales) =>
  (isArray(locales) ? locales : locales === undefined ? [] : [locales]).filter((one) => /^en(-us)?$/i.test(one));

// Called with or without `new`, as the standard's are.
const intl = (name, make) => {
  const made = {
    [name](locales, options) {
      const self = Object.create(made.prototype);
      return Object.assign(self, make(locales, asOptions(options)));
    },
  }[name];
  const constructor = function (locales, options) { return made(locales, options); };
  defineProperty(constructor, "name", { value: name });
  made.prototype = constructor.prototype;
  constructor.supportedLocalesOf = supportedLocalesOf;
  defineProperty(Intl, name, { value: constructor, writable: true, configurable: true });
  return made;
};

for (const [name, hint] of [
  ["DisplayNames", "write the names you need as an object: `{DE: \"Germany\"}[code]`"],
  ["Segmenter", "split with `[...text]` for characters, or `text.split(/\\s+/)` for words"],
  ["DurationFormat", "write it out: `${Math.floor(seconds / 60)} min`"],
  ["Locale", "use the language code itself, such as \"en\""],
  ["supportedValuesOf", "write the values you need as an array"],
]) {
  const refusal = { [name]: function () { throw unavailable("Intl." + name, hint); } }[name];
  defineProperty(Intl, name, { value: refusal, writable: true, configurable: true });
}
defineProperty(Intl, "getCanonicalLocales", {
  value: (locales) => (isArray(locales) ? locales : locales === undefined ? [] : [locales]).map(text),
  writable: true, configurable: true,
});

intl("PluralRules", (locales, options) => {
  checkLocale(locales, "only the rules of English are known here: leave the locale out");
  const type = option(options, "type", ["cardinal", "ordinal"], "cardinal");
  const select = (value) => {
    const n = Math.abs(number(value));
    if (type === "cardinal") return n === 1 ? "one" : "other";
    const [unit, ten] = [n % 10, n % 100];
    if (unit === 1 && ten !== 11) return "one";
    if (unit === 2 && ten !== 12) return "two";
    return unit === 3 && ten !== 13 ? "few" : "other";
  };
  return { select, resolvedOptions: () => ({ locale: "en-US", type }) };
});

intl("ListFormat", (locales, options) => {
  checkLocale(locales, "join the words yourself: `words.join(\", \")`");
  const type = option(options, "type", ["conjunction", "disjunction", "unit"], "conjunction");
  option(options, "style", ["long"], "long");
  const word = type === "conjunction" ? " and " : type === "disjunction" ? " or " : ", ";
  const format = (items) => {
    const all = [...items];
    if (all.length < 2) return all.join("");
    if (all.length === 2) return all.join(word);
    return all.slice(0, -1).join(", ") + (type === "unit" ? "" : ",") + word.replace(/^, /, ", ") + all.at(-1);
  };
  return { format, resolvedOptions: () => ({ locale: "en-US", type, style: "long" }) };
});

const UNITS_OF_TIME = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];
intl("RelativeTimeFormat", (locales, options) => {
  checkLocale(locales, "write it out: `${days} days ago`");
  const numeric = option(options, "numeric", ["always", "auto"], "always");
  option(options, "style", ["long"], "long");
  const format = (value, unit) => {
    const name = text(unit).replace(/s$/, "");
    if (!UNITS_OF_TIME.includes(name)) throw new RangeError("Invalid unit argument for format() '" + unit + "'");
    const n = number(value);
    if (numeric === "auto") {
      if (name === "day" && [-1, 0, 1].includes(n)) return ["yesterday", "today", "tomorrow"][n + 1];
      if (name === "second" && n === 0) return "now";
      if (n === 0) return "this " + name;
      if (Math.abs(n) === 1 && !["second", "minute", "hour", "day"].includes(name)) return (n < 0 ? "last " : "next ") + name;
    }
    const amount = formatNumber(Math.abs(n), NUMBERS) + " " + name + (Math.abs(n) === 1 ? "" : "s");
    return n < 0 || (n === 0 && 1 / n < 0) ? amount + " ago" : "in " + amount;
  };
  return { format, resolvedOptions: () => ({ locale: "en-US", numeric, style: "long", numberingSystem: "latn" }) };
});
