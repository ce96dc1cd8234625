// JSON out of the sandbox. A value is walked first: what JSON would lose silently gets a plain form (conversions.js) or is
// refused with its path.
const DEPTH = 200;

const quote = (string) => wellFormed(stringify(string));

// JSON.stringify writes a lone surrogate as an escape that strict parsers refuse; it becomes U+FFFD.
const wellFormed = (json) => {
  let at = indexOf(json, "\\ud");
  if (at < 0) return json;
  let out = "";
  let from = 0;
  at = indexOf(json, "\\", 0);
  while (at >= 0) {
    if (json[at + 1] === "u" && json[at + 2] === "d" && charCodeAt(json, at + 3) >= 56) {
      out += slice(json, from, at) + "\ufffd";
      from = at + 6;
      at = indexOf(json, "\\", from);
    } else {
      at = indexOf(json, "\\", at + 2);
    }
  }
  return out + slice(json, from);
};

const step = (key) => {
  for (let i = 0; i < key.length; i++) {
    const c = charCodeAt(key, i);
    const letter = (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95 || c === 36;
    if (!letter && !(i > 0 && c >= 48 && c <= 57)) return "[" + quote(key) + "]";
  }
  return key === "" ? '[""]' : "." + key;
};

// `plain` is `value` as JSON can carry it: itself, or a copy of the parts that have to be written in another way. If
// something in it can't be carried, `problem` is `{what, path}`. `room` bounds the size before it is built. `strict`: for a
// call, where a stand-in for a number or an item would do harm. A getter or toJSON that the walk meets may make a call of
// its own, which is walked meanwhile.
let above = create(null);
let size = 0;
let room = 0;
let strict = false;
let problem = null;

const carriable = (value, most, isArgument) => {
  const outer = { __proto__: null, above, size, room, strict, problem };
  above = create(null);
  size = 0;
  room = most;
  strict = isArgument;
  problem = null;
  try {
    const plain = plainOf(value, 0, "");
    return { __proto__: null, plain, problem };
  } finally {
    above = outer.above;
    size = outer.size;
    room = outer.room;
    strict = outer.strict;
    problem = outer.problem;
  }
};

const flaw = (what) => {
  problem = { __proto__: null, what, path: "" };
  return null;
};

const within = (where) => {
  problem.path = where + problem.path;
  return null;
};

const sized = (string) => {
  size += string.length;
  return size > room ? flaw("large") : string;
};

const plainOf = (item, depth, name) => {
  size += 2;
  if (size > room) return flaw("large");
  switch (typeof item) {
    case "string":
      size += item.length; // not `sized`: most values are strings, and a call costs
      return size > room ? flaw("large") : item;
    case "number":
      return isFinite(item) ? item : strict ? flaw(text(item)) : text(item);
    case "function":
      return flaw(toolPath(item) === undefined ? "a function" : "a tool");
    case "symbol":
      return flaw("a symbol");
    case "bigint":
      return plainBigInt(item, depth, name);
    case "object":
      return item === null ? null : plainObject(item, depth, name);
    default:
      return item;
  }
};

const plainBigInt = (item, depth, name) => {
  if (typeof item.toJSON !== "function") return strict ? flaw("a BigInt") : sized(text(item));
  const given = item.toJSON(text(name));
  return typeof given === "bigint" ? flaw("a BigInt") : plainOf(given, depth, name);
};

const plainObject = (found, depth, name) => {
  if (depth >= DEPTH) return flaw("deep");
  let item = found;
  if (typeof found.toJSON === "function") {
    if (isInvalidDate(found)) return strict ? flaw("an invalid Date") : "Invalid Date";
    item = found.toJSON(text(name));
    if (typeof item !== "object" || item === null) return plainOf(item, depth, name);
  }
  for (let i = depth - 1; i >= 0; i--) if (above[i] === item) return flaw("cyclic");
  above[depth] = item;
  if (isArray(item)) return plainItems(item, depth);
  const prototype = getPrototypeOf(item);
  return prototype === objectPrototype || prototype === null ? plainFields(item, depth) : converted(item, depth, name);
};

const itemDescriptor = { __proto__: null, value: null, writable: true, enumerable: true, configurable: true };
const putItem = (list, at, value) => {
  itemDescriptor.value = value;
  defineProperty(list, at, itemDescriptor);
};

// `list` may be any object with a length.
const plainItems = (list, depth) => {
  const { length } = list;
  let copy = isArray(list) ? null : [];
  for (let i = 0; i < length; i++) {
    const given = list[i];
    const made = strict && given === undefined ? flaw("undefined") : plainOf(given, depth + 1, i);
    if (problem !== null) return within("[" + i + "]");
    if (made !== given && copy === null) {
      copy = [];
      for (let j = 0; j < i; j++) putItem(copy, j, list[j]);
    }
    if (copy !== null) putItem(copy, i, made);
  }
  return copy ?? list;
};

const plainFields = (item, depth) => {
  const names = objectKeys(item);
  let copy = null;
  for (let i = 0; i < names.length; i++) {
    size += names[i].length + 3;
    const given = item[names[i]];
    const made = plainOf(given, depth + 1, names[i]);
    if (problem !== null) return within(step(names[i]));
    if (made !== given && copy === null) {
      copy = create(null);
      for (let j = 0; j < i; j++) copy[names[j]] = item[names[j]];
    }
    if (copy !== null) copy[names[i]] = made;
  }
  return copy ?? item;
};

const serialized = (value) => {
  const json = stringify(value);
  return json === undefined ? "null" : wellFormed(json);
};
