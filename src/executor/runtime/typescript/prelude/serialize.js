// JSON out of the sandbox. A value is walked first, so that what JSON would drop silently is refused with its path.
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

// The first thing in `value` that JSON can't carry: `{what, path}`, or null. `room` bounds the size before it is built.
let above = create(null);
let size = 0;
let room = 0;

const flawOf = (value, most) => {
  above = create(null);
  size = 0;
  room = most;
  return flawIn(value, 0);
};

const flaw = (what) => ({ __proto__: null, what, path: "" });

const within = (found, where) => {
  found.path = where + found.path;
  return found;
};

const flawIn = (item, depth) => {
  size += 2;
  if (size > room) return flaw("large");
  switch (typeof item) {
    case "string":
      size += item.length;
      return size > room ? flaw("large") : null;
    case "function":
      return flaw(toolPath(item) === undefined ? "a function" : "a tool");
    case "symbol":
      return flaw("a symbol");
    case "bigint":
      return typeof item.toJSON === "function" ? null : flaw("a BigInt");
    case "object":
      return item === null ? null : flawInObject(item, depth);
    default:
      return null;
  }
};

const flawInObject = (item, depth) => {
  if (depth >= DEPTH) return flaw("deep");
  for (let i = depth - 1; i >= 0; i--) if (above[i] === item) return flaw("cyclic");
  if (typeof item.toJSON === "function") return null;
  above[depth] = item;
  if (isArray(item)) {
    for (let i = 0; i < item.length; i++) {
      const found = flawIn(item[i], depth + 1);
      if (found !== null) return within(found, "[" + i + "]");
    }
    return null;
  }
  const names = objectKeys(item);
  for (let i = 0; i < names.length; i++) {
    size += names[i].length + 3;
    const found = flawIn(item[names[i]], depth + 1);
    if (found !== null) return within(found, step(names[i]));
  }
  return null;
};

const serialized = (value) => {
  const json = stringify(value);
  return json === undefined ? "null" : wellFormed(json);
};
