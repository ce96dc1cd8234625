// Dates as US English writes them, in UTC or at a fixed offset such as "+02:00".
const MONTHS = "January February March April May June July August September October November December".split(" ");
const WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const NO_DATE_LOCALE =
  "only en-US is known here: for 2026-01-31 write `date.toISOString().slice(0, 10)`, for another order use getUTCDate() and friends";
const NO_ZONE =
  "only UTC and fixed offsets are known here: pass the zone's offset on that day, such as timeZone: \"+02:00\"";
const UNKNOWN_DATE_OPTIONS = ["era", "dayPeriod", "fractionalSecondDigits"];
const DATE_PARTS = ["weekday", "year", "month", "day"];
const TIME_PARTS = ["hour", "minute", "second"];
const PARTS_OF_STYLE = {
  __proto__: null,
  full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  long: { year: "numeric", month: "long", day: "numeric" },
  medium: { year: "numeric", month: "short", day: "numeric" },
  short: { year: "2-digit", month: "numeric", day: "numeric" },
};
const TIME_OF_STYLE = {
  __proto__: null,
  full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
  long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
  short: { hour: "numeric", minute: "2-digit" },
};
const STYLES = ["full", "long", "medium", "short"];
const WIDTHS = ["numeric", "2-digit"];
const NAMES = ["long", "short", "narrow"];

// Minutes from UTC.
const zoneOffset = (zone) => {
  if (zone === undefined || /^(utc|gmt|etc\/(utc|gmt|uct|zulu)|zulu|uct)$/i.test(text(zone))) return 0;
  const found = /^([+-])(\d\d):?(\d\d)$/.exec(text(zone));
  if (found !== null && found[2] < 24 && found[3] < 60) return (found[1] === "-" ? -1 : 1) * (found[2] * 60 + number(found[3]));
  throw unavailable("the time zone " + quote(text(zone)), NO_ZONE);
};

// `wanted` is what is shown if no part is named: "date", "time" or "both"; `asked` which parts count as named.
const dateStyle = (locales, given, asked, wanted) => {
  const options = asOptions(given);
  checkLocale(locales, NO_DATE_LOCALE);
  refuseOptions(options, UNKNOWN_DATE_OPTIONS, "leave it out, or write that part yourself from date.toISOString()");
  option(options, "calendar", ["gregory", "iso8601"], "gregory");
  option(options, "numberingSystem", ["latn"], "latn");
  const parts = {
    weekday: option(options, "weekday", NAMES), year: option(options, "year", WIDTHS),
    month: option(options, "month", [...WIDTHS, ...NAMES]), day: option(options, "day", WIDTHS),
    hour: option(options, "hour", WIDTHS), minute: option(options, "minute", WIDTHS), second: option(options, "second", WIDTHS),
    timeZoneName: option(options, "timeZoneName", ["short", "long"]),
  };
  const inDate = option(options, "dateStyle", STYLES);
  const inTime = option(options, "timeStyle", STYLES);
  const names = asked === "any" ? [...DATE_PARTS, ...TIME_PARTS] : asked === "date" ? DATE_PARTS : TIME_PARTS;
  if (inDate !== undefined || inTime !== undefined) {
    if ([...DATE_PARTS, ...TIME_PARTS, "timeZoneName"].some((name) => parts[name] !== undefined)) {
      throw new TypeError("dateStyle and timeStyle can't be used with weekday, year, month, day, hour, minute, second");
    }
    if ((wanted === "date" && asked === "date" && inTime !== undefined) || (wanted === "time" && inDate !== undefined)) {
      throw new TypeError("Invalid option : " + (wanted === "date" ? "timeStyle" : "dateStyle"));
    }
    Object.assign(parts, PARTS_OF_STYLE[inDate], TIME_OF_STYLE[inTime]);
  } else if (names.every((name) => parts[name] === undefined)) {
    if (wanted !== "time") parts.year = parts.month = parts.day = "numeric";
    if (wanted !== "date") parts.hour = parts.minute = parts.second = "numeric";
  }
  const cycle = option(options, "hourCycle", ["h12", "h23"], "h12");
  const offset = zoneOffset(options.timeZone);
  return {
    parts, offset, inDate,
    zone: options.timeZone === undefined || offset === 0 ? "UTC" : text(options.timeZone),
    is12: options.hour12 === undefined ? cycle === "h12" : Boolean(options.hour12),
  };
};

const padded = (value, width) => text(value).padStart(width === "2-digit" ? 2 : 1, "0");
const nameOf = (name, width) => (width === "long" ? name : name.slice(0, width === "short" ? 3 : 1));
const literal = (value) => ({ type: "literal", value });

const joined = (lists, separator) =>
  lists.filter((list) => list.length > 0).flatMap((list, i) => (i > 0 ? [literal(separator), ...list] : list));

const dateParts = (date, parts) => {
  const { weekday, year, month, day } = parts;
  const part = (type, value) => (parts[type] === undefined ? [] : [{ type, value }]);
  const written = date.getUTCFullYear();
  const years = part("year", year === "2-digit" ? padded(written % 100, "2-digit") : text(written));
  const days = part("day", padded(date.getUTCDate(), day));
  const isNamed = NAMES.includes(month);
  const name = MONTHS[date.getUTCMonth()];
  const months = part("month", isNamed ? nameOf(name, month) : padded(date.getUTCMonth() + 1, month));
  const weekdays = part("weekday", weekday === undefined ? "" : nameOf(WEEKDAYS[date.getUTCDay()], weekday));
  if (month === undefined && [weekday, year, day].filter((one) => one !== undefined).length > 1) {
    throw unavailable("a date without its month", "add month, or write the parts yourself from date.toISOString()");
  }
  if (weekday !== undefined && month !== undefined && day === undefined) {
    throw unavailable("a weekday without its day", "add day, or write the parts yourself from date.toISOString()");
  }
  if (!isNamed) return joined([weekdays, joined([months, days, years], "/")], ", ");
  const dayOfMonth = joined([months, days], " ");
  return joined([weekdays, joined([dayOfMonth, years], day === undefined ? " " : ", ")], ", ");
};

const timeParts = (date, style) => {
  const { hour, minute, second, timeZoneName } = style.parts;
  const out = [];
  const add = (type, value) => out.push(...(out.length > 0 ? [literal(":")] : []), { type, value });
  const hours = date.getUTCHours();
  const alone = [hour, minute, second].filter((one) => one !== undefined).length === 1;
  if (hour !== undefined) add("hour", padded(style.is12 ? hours % 12 || 12 : hours, style.is12 ? hour : "2-digit"));
  if (minute !== undefined) add("minute", padded(date.getUTCMinutes(), alone ? "numeric" : "2-digit"));
  if (second !== undefined) add("second", padded(date.getUTCSeconds(), alone ? "numeric" : "2-digit"));
  if (hour !== undefined && style.is12) out.push(literal(" "), { type: "dayPeriod", value: hours < 12 ? "AM" : "PM" });
  if (timeZoneName !== undefined) out.push(literal(" "), { type: "timeZoneName", value: zoneName(style, timeZoneName) });
  return out;
};

const zoneName = (style, width) => {
  if (style.offset === 0) return width === "long" ? "Coordinated Universal Time" : "UTC";
  const [size, sign] = [Math.abs(style.offset), style.offset < 0 ? "-" : "+"];
  const minutes = size % 60 === 0 && width === "short" ? "" : ":" + padded(size % 60, "2-digit");
  return "GMT" + sign + padded(floor(size / 60), width === "long" ? "2-digit" : "numeric") + minutes;
};

const partsOfDate = (value, style) => {
  const at = value === undefined ? dateNow() : number(value);
  if (!isFinite(at)) throw new RangeError("Invalid time value");
  const date = new Date(at + style.offset * 60000);
  const isLong = style.inDate === undefined ? style.parts.month === "long" : ["full", "long"].includes(style.inDate);
  const days = dateParts(date, style.parts);
  const times = timeParts(date, style);
  if (days.length > 0 && times.length > 0 && style.parts.hour === undefined && style.parts.timeZoneName !== undefined) {
    return [...days, literal(", "), ...times.slice(1)];
  }
  const isWeekday = style.parts.month === undefined && style.parts.weekday !== undefined && style.parts.minute !== undefined;
  return joined([days, times], isWeekday ? " " : isLong ? " at " : ", ");
};

const textOfDate = (value, style) => partsOfDate(value, style).map((part) => part.value).join("");

intl("DateTimeFormat", (locales, options) => {
  const style = dateStyle(locales, options, "any", "date");
  const refuse = () => { throw unavailable("formatRange", "format both dates and join them with a dash"); };
  return {
    format: (value) => textOfDate(value, style),
    formatToParts: (value) => partsOfDate(value, style),
    formatRange: refuse, formatRangeToParts: refuse,
    resolvedOptions: () => ({ locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: style.zone, ...style.parts }),
  };
});

for (const [name, asked, wanted] of [
  ["toLocaleString", "any", "both"], ["toLocaleDateString", "date", "date"], ["toLocaleTimeString", "time", "time"],
]) {
  const made = {
    [name](locales, options) {
      const at = this.getTime();
      return isFinite(at) ? textOfDate(at, dateStyle(locales, options, asked, wanted)) : "Invalid Date";
    },
  }[name];
  defineMethod(Date.prototype, name, made);
}
