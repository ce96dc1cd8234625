// What the bridge uses, taken before any submitted code runs. Nothing here is looked up on a prototype later, arrays are
// never iterated and never assigned past their end: a polluted Object, Array, Promise or JSON changes only the code's own values.
const { apply, ownKeys, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
const method = (prototype, name) => {
  const found = prototype[name];
  return (self, ...args) => apply(found, self, args);
};
const getter = (prototype, name) => {
  const found = getOwnPropertyDescriptor(prototype, name).get;
  return (self) => apply(found, self, []);
};
const { create, keys: objectKeys, freeze, defineProperty } = Object;
const { isArray } = Array;
const { stringify, parse } = JSON;
delete JSON.rawJSON; // writes numbers that other readers refuse
delete JSON.isRawJSON;
const { floor, min, max } = Math;
const { fromCharCode, fromCodePoint } = String;
const { now: dateNow } = Date;
const GlobalPromise = Promise;
const GlobalProxy = Proxy;
const GlobalError = Error;
const GlobalTypeError = TypeError;
const GlobalRangeError = RangeError;
const text = String;
const number = Number;
const indexOf = method(String.prototype, "indexOf");
const charCodeAt = method(String.prototype, "charCodeAt");
const codePointAt = method(String.prototype, "codePointAt");
const slice = method(String.prototype, "slice");
const toLowerCase = method(String.prototype, "toLowerCase");
const toWellFormed = method(String.prototype, "toWellFormed");
const weakGet = method(WeakMap.prototype, "get");
const weakSet = method(WeakMap.prototype, "set");
const isFinite = Number.isFinite;
const errorHints = new WeakMap();
// An error that says what to write instead, also to whoever catches it.
const hinted = (error, hint) => {
  weakSet(errorHints, error, hint);
  defineProperty(error, "hint", { __proto__: null, value: hint, writable: true, enumerable: true, configurable: true });
  return error;
};
const { toPrimitive } = Symbol;

const expose = (name, value) =>
  defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });

// A queue that no polluted prototype can see: items hang on objects without one.
const queue = () => {
  let first = null;
  let last = null;
  return {
    __proto__: null,
    push(value) {
      const item = { __proto__: null, value, next: null };
      if (last === null) first = item;
      else last.next = item;
      last = item;
    },
    shift() {
      const { value } = first;
      first = first.next;
      if (first === null) last = null;
      return value;
    },
    isEmpty: () => first === null,
  };
};

const startsWith = (string, prefix) => slice(string, 0, prefix.length) === prefix;
