// `tools.a.b.c(argument)`: the only door. A call becomes a proposal that the host reads after the step.
class ToolError extends Error {
  // Fields are defined, not assigned: no setter on a polluted prototype sees them.
  code = "tool_error";
  status = null;
  details = null;
  retryable = false;
  hint = "";
  constructor(message = "", fields = null) {
    super(message);
    if (fields !== null) fill(this, fields);
  }
}
const FIELDS = freeze(["message", "code", "status", "details", "retryable", "hint"]);
const fill = (error, fields) => {
  for (let i = 0; i < FIELDS.length; i++) {
    const value = fields[FIELDS[i]];
    if (value !== undefined) error[FIELDS[i]] = value;
  }
};
defineProperty(ToolError.prototype, "name", { value: "ToolError", writable: true, configurable: true });
freeze(ToolError); // its prototype chain is read by every call
expose("ToolError", ToolError);

// The errors that the host gave, with their codes: only these may end an execution with a code of their own.
const givenCodes = new WeakMap();

const paths = new WeakMap();
const toolPath = (value) => weakGet(paths, value);

const refused = (message, hint = "") => {
  const error = new GlobalTypeError(message);
  return apply(promiseReject, GlobalPromise, [hint === "" ? error : hinted(error, hint)]);
};
const { reject: promiseReject } = GlobalPromise;

const objections = {
  __proto__: null,
  deep: " is nested deeper than " + DEPTH + " levels",
  cyclic: " refers back to itself",
  large: " makes the arguments too large",
};

const example = (name) => "write " + name + "({name: value})";
const argumentText = (path, args) => {
  const name = "tools." + path;
  if (args.length > 1) return refused(name + " takes one argument, an object; it got " + args.length, example(name));
  const argument = args[0] === undefined ? {} : args[0];
  if (typeof argument !== "object" || argument === null || isArray(argument)) {
    const got = argument === null ? "null" : isArray(argument) ? "an array" : typeof argument;
    return refused(name + " takes one argument, an object; it got " + got, example(name));
  }
  const form = carriable(argument, program.argumentRoom, true);
  if (form.problem !== null) {
    const { what, path: place } = form.problem;
    const why = objections[what] ?? " is " + what + ", which JSON can't carry: " + replacement(what);
    return refused(name + ": the argument at $" + shortened(place) + why, replacement(what));
  }
  const json = serialized(form.plain);
  if (json.length > program.argumentRoom) return refused(name + ": the arguments are too large");
  if (json[0] !== "{") return refused(name + " takes one argument, an object; this one is written as something else");
  program.argumentRoom -= json.length;
  return json;
};

const invoke = (path, args) => {
  if (end !== null) throw new GlobalError("the execution has ended"); // out of a loop that would call for ever
  if (path.length > 1000) return refused("the name of a tool has at most 1000 characters");
  if (path === "") return refused("tools is not a function: name a tool, like tools.discover({query: \"...\"})");
  let json;
  try {
    json = argumentText(path, args);
  } catch (error) {
    return apply(promiseReject, GlobalPromise, [error]);
  }
  if (typeof json !== "string") return json;
  const error = new ToolError(); // made here, so that its stack shows the line of the call
  return new GlobalPromise((resolve, reject) => {
    propose("c", quote(path) + "\n" + json, { __proto__: null, resolve, reject, error, timer: null });
  });
};

const known = create(null); // one proxy a path: `tools.a === tools.a`, and a loop makes no new ones
const traps = {
  __proto__: null,
  get(target, name) {
    if (name === toPrimitive) return () => "tools." + toolPath(target);
    if (typeof name === "symbol" || name === "then" || name === "toJSON") return undefined;
    const path = toolPath(target);
    return toolAt(path === "" ? name : path + "." + name);
  },
  apply: (target, _, args) => invoke(toolPath(target), args),
  has: () => true,
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
  getPrototypeOf: () => null,
  setPrototypeOf: () => false,
  preventExtensions: () => false,
};

const toolAt = (path) => {
  const found = known[path];
  if (found !== undefined) return found;
  const target = () => {};
  const proxy = new GlobalProxy(target, traps);
  weakSet(paths, target, path);
  weakSet(paths, proxy, path);
  known[path] = proxy;
  return proxy;
};
defineProperty(globalThis, "tools", { value: toolAt(""), writable: false, enumerable: true, configurable: false });

const absent = (name, hint) =>
  expose(name, {
    [name]() { throw hinted(new GlobalTypeError(name + " is not available in the sandbox: " + hint), hint); },
  }[name]);
absent("fetch", "call a connected tool through tools.* instead; tools.discover({query}) finds one");
absent("require", "there are no modules; everything outside is reached through tools.*");
absent("XMLHttpRequest", "call a connected tool through tools.* instead; tools.discover({query}) finds one");
absent("WebSocket", "call a connected tool through tools.* instead; tools.discover({query}) finds one");
