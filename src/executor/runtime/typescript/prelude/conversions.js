// The plain form of what JSON would write as `{}`, and what to write instead of things that have none.
const objectPrototype = Object.prototype;
const { iterator: iteratorKey, asyncIterator: asyncIteratorKey } = Symbol;
const CLASSES = {
  __proto__: null, Map, Set, Date, RegExp, Promise, WeakMap, WeakSet, WeakRef: globalThis.WeakRef, ArrayBuffer, DataView,
};
const WEAK = freeze(["WeakMap", "WeakSet", "WeakRef"]);
const mapForEach = method(Map.prototype, "forEach");
const setForEach = method(Set.prototype, "forEach");
const mapSize = getter(Map.prototype, "size");
const setSize = getter(Set.prototype, "size");
const dateTime = method(Date.prototype, "getTime");
const regexpText = method(RegExp.prototype, "toString");
const boxed = (value) =>
  value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt;

const REPLACEMENTS = {
  __proto__: null,
  "a tool": "call it, like `await tools.namespace.name({...})`",
  "a function": "call it and use its result, or leave it out",
  "a symbol": "use a string",
  "a BigInt": "convert it with String(value) or Number(value)",
  "a Promise": "await it; for a list of them write `await Promise.all(list)`",
  "an iterator": "make an array of it: `[...value]`",
  "an async iterator": "collect its items: `for await (const item of value) list.push(item)`",
  "an invalid Date": "check the text it was made of, or leave it out",
  undefined: "filter it out, or write null",
  NaN: "check the number with Number.isFinite, and leave it out or write null",
  Infinity: "check the number with Number.isFinite, and leave it out or write null",
  "-Infinity": "check the number with Number.isFinite, and leave it out or write null",
  "a WeakMap": "use a Map",
  "a WeakSet": "use a Set",
  "a WeakRef": "use its deref()",
};
const replacement = (what) =>
  REPLACEMENTS[what] ?? "use plain data: objects, arrays, strings, numbers, booleans, null";

const isInvalidDate = (item) =>
  getPrototypeOf(item) === CLASSES.Date.prototype && !isFinite(dateTime(item));

const converted = (item, depth, name) => {
  if (typedTag(item) !== undefined) return plainItems(item, depth);
  if (item instanceof CLASSES.Map) return plainMap(item, depth);
  if (item instanceof CLASSES.Set) return plainSet(item, depth);
  if (item instanceof GlobalError) return plainError(item, depth);
  if (item instanceof CLASSES.RegExp) return sized(regexpText(item));
  if (item instanceof CLASSES.ArrayBuffer) return plainItems(new GlobalUint8Array(item), depth);
  if (item instanceof CLASSES.DataView) {
    return plainItems(new GlobalUint8Array(item.buffer, item.byteOffset, item.byteLength), depth);
  }
  if (boxed(item)) return plainOf(item.valueOf(), depth, name);
  if (item instanceof CLASSES.Promise) return flaw("a Promise");
  for (let i = 0; i < WEAK.length; i++) {
    if (CLASSES[WEAK[i]] !== undefined && item instanceof CLASSES[WEAK[i]]) return flaw("a " + WEAK[i]);
  }
  if (typeof item.next === "function") {
    if (typeof item[asyncIteratorKey] === "function") return flaw("an async iterator");
    if (typeof item[iteratorKey] === "function") return flaw("an iterator");
  }
  return plainFields(item, depth);
};

// An object if every key is a string; else, so that no key changes or is lost, a list of `[key, value]`.
const plainMap = (map, depth) => {
  let isNamed = true;
  mapForEach(map, (_, name) => { isNamed &&= typeof name === "string"; });
  const fields = isNamed ? create(null) : [];
  let count = 0;
  mapForEach(map, (value, name) => {
    if (problem !== null) return;
    if (isNamed) {
      size += name.length + 3;
      fields[name] = plainOf(value, depth + 1, name);
      if (problem !== null) within(step(name));
    } else {
      const pair = [name, value];
      putItem(fields, count, plainItems(pair, depth + 1));
      if (problem !== null) within("[" + count + "]");
      count += 1;
    }
  });
  return fields;
};

const plainSet = (set, depth) => {
  const items = [];
  let count = 0;
  setForEach(set, (value) => {
    if (problem !== null) return;
    putItem(items, count, strict && value === undefined ? flaw("undefined") : plainOf(value, depth + 1, count));
    if (problem !== null) within("[" + count + "]");
    count += 1;
  });
  return items;
};

// With what it carries, and without its stack.
const plainError = (error, depth) => {
  const fields = create(null);
  fields.name = text(error.name);
  fields.message = text(error.message);
  const names = objectKeys(error);
  for (let i = 0; i < names.length; i++) if (names[i] !== "stack") fields[names[i]] = error[names[i]];
  if (error.cause !== undefined) fields.cause = error.cause;
  if (isArray(error.errors)) fields.errors = error.errors;
  return plainFields(fields, depth);
};
