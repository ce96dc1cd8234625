// Numbers as US English writes them. Digits are rounded in decimal, half away from zero, as browsers do.
const SYMBOLS = {
  __proto__: null, USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$",
  MXN: "MX$", NZD: "NZ$", HKD: "HK$", TWD: "NT$", ILS: "₪", VND: "₫", PHP: "₱", XAF: "FCFA", XCD: "EC$",
  XOF: "F\u202fCFA", XPF: "CFPF",
};
const FRACTIONS = {
  __proto__: null, JPY: 0, KRW: 0, VND: 0, CLP: 0, ISK: 0, PYG: 0, UGX: 0, XAF: 0, XOF: 0, XPF: 0, RWF: 0, DJF: 0, GNF: 0, KMF: 0,
  BIF: 0, VUV: 0, UYI: 0, BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3,
};
const NO_NUMBER_LOCALE = "only en-US is known here: write it with `value.toFixed(2)` and `replace(\".\", \",\")`";
const UNKNOWN_NUMBER_OPTIONS = [
  "unit", "unitDisplay", "signDisplay", "currencySign", "roundingMode", "roundingIncrement", "roundingPriority",
  "trailingZeroDisplay",
];

const digitCount = (options, name, least, most) => {
  if (options[name] === undefined) return undefined;
  const given = number(options[name]);
  if (!(given >= least && given <= most)) throw new RangeError(name + " value is out of range.");
  return floor(given);
};

const numberStyle = (locales, given) => {
  const options = asOptions(given);
  checkLocale(locales, NO_NUMBER_LOCALE);
  refuseOptions(options, UNKNOWN_NUMBER_OPTIONS, "format the number with `value.toFixed(2)` and write the rest as text");
  option(options, "numberingSystem", ["latn"], "latn");
  const style = option(options, "style", ["decimal", "percent", "currency"], "decimal");
  const notation = option(options, "notation", ["standard", "compact"], "standard");
  option(options, "compactDisplay", ["short"], "short");
  option(options, "currencyDisplay", ["symbol", "code", "narrowSymbol"], "symbol");
  const grouping = option(options, "useGrouping", [true, false, "true", "false", "always", "auto"], true);
  let currency;
  if (style === "currency") {
    if (options.currency === undefined) throw new TypeError("Currency code is required with currency style.");
    currency = text(options.currency).toUpperCase();
    if (!/^[A-Z]{3}$/.test(currency)) throw new RangeError("Invalid currency code : " + options.currency);
  }
  const usual = style === "currency" ? FRACTIONS[currency] ?? 2 : 0;
  const widest = style === "currency" ? usual : style === "percent" ? 0 : 3;
  let least = digitCount(options, "minimumFractionDigits", 0, 100);
  let most = digitCount(options, "maximumFractionDigits", 0, 100);
  if (least !== undefined && most !== undefined && least > most) throw new RangeError("maximumFractionDigits value is out of range.");
  const isPlain = least === undefined && most === undefined;
  least ??= min(usual, most ?? usual);
  most ??= max(widest, least);
  return {
    style, notation, currency, least, most, isPlain,
    grouping: grouping !== false && grouping !== "false",
    display: options.currencyDisplay ?? "symbol",
    integers: digitCount(options, "minimumIntegerDigits", 1, 21) ?? 1,
    leastSignificant: digitCount(options, "minimumSignificantDigits", 1, 21),
    mostSignificant: digitCount(options, "maximumSignificantDigits", 1, 21),
  };
};

// The digits before and after the point of a positive number.
const decimalDigits = (value) => {
  const [mantissa, exponent = "0"] = text(value).split("e");
  let [whole, fraction = ""] = mantissa.split(".");
  const shift = number(exponent);
  if (shift > 0) {
    fraction = fraction.padEnd(shift, "0");
    whole += fraction.slice(0, shift);
    fraction = fraction.slice(shift);
  } else if (shift < 0) {
    whole = whole.padStart(1 - shift, "0");
    fraction = whole.slice(shift) + fraction;
    whole = whole.slice(0, shift);
  }
  return [whole.replace(/^0+(?=\d)/, ""), fraction];
};

const rounded = ([whole, fraction], places) => {
  if (fraction.length <= places) return [whole, fraction];
  const up = fraction[places] >= "5";
  const kept = whole + fraction.slice(0, places);
  const all = (up ? text(BigInt(kept) + 1n) : kept).padStart(kept.length, "0");
  const point = all.length - places;
  return [all.slice(0, point), all.slice(point)];
};

const significant = (parts, least, most) => {
  const [whole, fraction] = parts;
  const isZero = whole === "0" && !/[1-9]/.test(fraction);
  const leading = isZero ? 1 : whole !== "0" ? whole.length : -/^0*/.exec(fraction)[0].length;
  let [kept, rest] = parts;
  const places = most - leading;
  if (places >= 0) {
    [kept, rest] = rounded(parts, places);
  } else {
    const [high] = rounded([whole.slice(0, places), whole.slice(places)], 0);
    [kept, rest] = [high + "0".repeat(-places), ""];
  }
  rest = rest.replace(/0+$/, "");
  return [kept, rest.padEnd(max(0, least - leading), "0")];
};

const SUFFIXES = ["", "K", "M", "B", "T"];
const compacted = (parts, style) => {
  const reduced = (index) => {
    const cut = 3 * index;
    const whole = parts[0].padStart(cut + 1, "0");
    const scaled = cut === 0 ? parts : [whole.slice(0, -cut), whole.slice(-cut) + parts[1]];
    if (!style.isPlain) return rounded(scaled, style.most);
    return scaled[0].length > 1 ? rounded(scaled, 0) : significant(scaled, 1, 2);
  };
  let index = min(4, floor((parts[0].length - 1) / 3));
  let made = reduced(index);
  if (made[0].length > 3 && index < 4) made = reduced(++index);
  return [made[0], made[1].replace(/0+$/, "").padEnd(style.isPlain ? 0 : style.least, "0"), SUFFIXES[index]];
};

const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",");

const formatNumber = (value, style) => {
  const isNegative = typeof value === "bigint" ? value < 0n : value < 0 || (value === 0 && 1 / value < 0);
  let body;
  let suffix = "";
  if (value !== value) {
    body = "NaN";
  } else if (typeof value === "number" && !isFinite(value)) {
    body = "∞";
  } else {
    let parts = decimalDigits(isNegative ? -value : value);
    if (style.style === "percent") {
      const moved = parts[1].padEnd(2, "0");
      parts = [(parts[0] + moved.slice(0, 2)).replace(/^0+(?=\d)/, ""), moved.slice(2)];
    }
    const { leastSignificant, mostSignificant } = style;
    if (leastSignificant !== undefined || mostSignificant !== undefined) {
      parts = significant(parts, leastSignificant ?? 1, mostSignificant ?? 21);
    } else if (style.notation === "compact") {
      parts = compacted(parts, style);
      suffix = parts[2];
    } else {
      const [whole, fraction] = rounded(parts, style.most);
      parts = [whole, fraction.replace(/0+$/, "").padEnd(style.least, "0")];
    }
    const whole = parts[0].padStart(style.integers, "0");
    body = (style.grouping && (style.notation !== "compact" || whole.length > 4) ? grouped(whole) : whole) +
      (parts[1] === "" ? "" : "." + parts[1]) + suffix;
  }
  if (style.style === "percent") body += "%";
  if (style.style === "currency") {
    const symbol = style.display === "code" ? style.currency : SYMBOLS[style.currency] ?? style.currency;
    const sign = style.display === "narrowSymbol" ? symbol.replace(/^[A-Z]+(?=[^A-Z])/, "") : symbol;
    body = sign + (/[A-Z]$/.test(sign) && /^\d/.test(body) ? "\u00a0" : "") + body;
  }
  return (isNegative ? "-" : "") + body;
};

const NUMBERS = numberStyle();
const numeric = (value) => (typeof value === "bigint" ? value : number(value));
intl("NumberFormat", (locales, options) => {
  const style = numberStyle(locales, options);
  const refuse = () => { throw unavailable("formatToParts of numbers", "use format(), and split its text"); };
  return {
    format: (value) => formatNumber(numeric(value), style),
    formatToParts: refuse, formatRange: refuse, formatRangeToParts: refuse,
    resolvedOptions: () => ({
      locale: "en-US", numberingSystem: "latn", style: style.style, currency: style.currency, notation: style.notation,
      minimumFractionDigits: style.least, maximumFractionDigits: style.most, useGrouping: style.grouping ? "auto" : false,
    }),
  };
});
const numberMethod = function toLocaleString(locales, options) {
  const value = this.valueOf();
  return formatNumber(value, locales === undefined && options === undefined ? NUMBERS : numberStyle(locales, options));
};
defineMethod(Number.prototype, "toLocaleString", numberMethod);
defineMethod(BigInt.prototype, "toLocaleString", numberMethod);
for (const prototype of [Array.prototype, typedArrayPrototype]) {
  defineMethod(prototype, "toLocaleString", function toLocaleString(locales, options) {
    let out = "";
    for (let i = 0; i < this.length; i++) out += (i > 0 ? "," : "") + (this[i]?.toLocaleString(locales, options) ?? "");
    return out;
  });
}
