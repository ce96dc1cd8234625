// console.* : text lines for the journal, bounded in number and size however hostile the values.
const LEVELS = { __proto__: null, debug: 0, log: 1, info: 2, warn: 3, error: 4 };
let logItems = "";
let logFull = false;
let indent = "";

const takeLogs = () => {
  const out = logItems;
  logItems = "";
  return out;
};

const write = (level, line) => {
  if (logFull) return;
  const shown = indent === "" ? line : indent + line;
  program.logs -= shown.length + 8;
  if (program.logs < 0) {
    logFull = true;
    logItems += "l" + LEVELS.warn + quote("log limit reached: further lines are dropped") + "\n";
    return;
  }
  logItems += "l" + LEVELS[level] + quote(shown) + "\n";
};

// Columns as the user wrote them: the first line carries a wrapper, the last expression may have got a `return(`.
const RETURN = 7;
const userColumn = (row, column) => {
  let shown = row === 1 ? max(1, column - program.offset) : column;
  const from = program.inserted[1];
  if (row === program.inserted[0] && shown > from) shown = max(from, shown - RETURN);
  return shown;
};

// Frames of the submitted code.
const userFrames = (error) => {
  const frames = { __proto__: null, line: 0, column: 0, stack: "" };
  const stack = typeof error.stack === "string" ? slice(error.stack, 0, 64000) : "";
  let from = 0;
  while (from < stack.length) {
    let to = indexOf(stack, "\n", from);
    if (to < 0) to = stack.length;
    const line = slice(stack, from, to);
    const at = indexOf(line, "main.ts:");
    if (at >= 0) addFrame(frames, line, at + 8);
    from = to + 1;
  }
  return frames;
};

// Code can write a stack of its own: no more digits than a line or column can have.
const digits = (line, at) => {
  const last = min(line.length, at + 9);
  let end = at;
  while (end < last && charCodeAt(line, end) >= 48 && charCodeAt(line, end) <= 57) end++;
  return end;
};

const addFrame = (frames, line, at) => {
  const end = digits(line, at);
  const row = number(slice(line, at, end));
  const after = line[end] === ":" ? digits(line, end + 1) : end;
  const column = userColumn(row, after > end ? number(slice(line, end + 1, after)) : 1);
  if (frames.line === 0) {
    frames.line = row;
    frames.column = column;
  }
  frames.stack += (frames.stack === "" ? "" : "\n") + slice(line, 0, at) + row + ":" + column + slice(line, after);
};

const dateText = method(Date.prototype, "toISOString");

const MOST_ITEMS = 100;
const DEEPEST = 4;

// Like Node's util.inspect, but in one line a value and never more than `room` parts.
const inspect = (value) => {
  let room = 2000;
  const above = create(null);
  const list = (open, close) => {
    const out = { __proto__: null, text: open, count: 0 };
    out.add = (part) => {
      out.count += 1;
      if (out.count <= MOST_ITEMS) out.text += (out.count > 1 ? ", " : "") + part();
    };
    out.end = () => out.text + (out.count > MOST_ITEMS ? ", … " + (out.count - MOST_ITEMS) + " more" : "") + close;
    return out;
  };
  const named = (item, fallback) => {
    const prototype = getPrototypeOf(item);
    if (prototype === null) return "[null prototype] ";
    const { constructor } = prototype;
    const name = typeof constructor === "function" ? text(constructor.name) : "";
    return name === fallback || name === "" ? "" : name + " ";
  };
  const array = (item, depth) => {
    const out = list("[ ", " ]");
    const length = min(item.length, MOST_ITEMS);
    for (let i = 0; i < length; i++) out.add(() => show(item[i], depth + 1));
    out.count = item.length;
    return item.length === 0 ? "[]" : out.end();
  };
  const map = (item, depth) => {
    const out = list("Map(" + mapSize(item) + ") { ", " }");
    mapForEach(item, (v, k) => out.add(() => show(k, depth + 1) + " => " + show(v, depth + 1)));
    return out.end();
  };
  const set = (item, depth) => {
    const out = list("Set(" + setSize(item) + ") { ", " }");
    setForEach(item, (v) => out.add(() => show(v, depth + 1)));
    return out.end();
  };
  const error = (item, depth) => {
    const frames = userFrames(item);
    const head = text(item.name) + (item.message === "" ? "" : ": " + text(item.message));
    const cause = item.cause === undefined ? "" : "\n  [cause]: " + show(item.cause, depth + 1);
    return (depth === 0 && frames.stack !== "" ? head + "\n" + frames.stack : "[" + head + "]") + cause;
  };
  const plain = (item, depth) => {
    const out = list(named(item, "Object") + "{ ", " }");
    const names = objectKeys(item);
    for (let i = 0; i < names.length; i++) {
      const label = step(names[i]);
      out.add(() => (label[0] === "." ? slice(label, 1) : quote(names[i])) + ": " + property(item, names[i], depth));
    }
    return names.length === 0 ? named(item, "Object") + "{}" : out.end();
  };
  const property = (item, name, depth) => {
    const found = getOwnPropertyDescriptor(item, name);
    return found !== undefined && found.get !== undefined ? "[Getter]" : show(item[name], depth + 1);
  };
  const typed = (item, tag, depth) => tag + "(" + item.length + ") " + array(item, depth);
  const object = (item, depth) => {
    for (let i = depth - 1; i >= 0; i--) if (above[i] === item) return "[Circular]";
    if (item instanceof GlobalError) return error(item, depth);
    if (item instanceof CLASSES.Date) return isFinite(dateTime(item)) ? dateText(item) : "Invalid Date";
    if (item instanceof CLASSES.RegExp) return regexpText(item);
    if (item instanceof CLASSES.Promise) return "Promise {}";
    if (boxed(item)) return "[" + named(item, "") + show(item.valueOf(), depth + 1) + "]";
    if (depth > DEEPEST) return isArray(item) ? "[Array]" : "[" + (slice(named(item, ""), 0, -1) || "Object") + "]";
    above[depth] = item;
    const tag = typedTag(item);
    if (tag !== undefined) return typed(item, tag, depth);
    if (isArray(item)) return array(item, depth);
    if (item instanceof CLASSES.Map) return map(item, depth);
    if (item instanceof CLASSES.Set) return set(item, depth);
    if (item instanceof CLASSES.ArrayBuffer) return "ArrayBuffer { byteLength: " + item.byteLength + " }";
    return plain(item, depth);
  };
  const callable = (item) => {
    const path = toolPath(item);
    if (path !== undefined) return "[tool " + path + "]";
    const source = text(item);
    const kind = startsWith(source, "class") ? "class" : startsWith(source, "async") ? "AsyncFunction" : "Function";
    return "[" + kind + (item.name ? (kind === "class" ? " " : ": ") + text(item.name) : "") + "]";
  };
  const show = (item, depth) => {
    if (--room < 0) return "…";
    switch (typeof item) {
      case "string": return depth === 0 ? item : quote(item);
      case "bigint": return text(item) + "n";
      case "number": return item === 0 && 1 / item < 0 ? "-0" : text(item);
      case "function": return callable(item);
      case "object": return item === null ? "null" : object(item, depth);
      default: return text(item);
    }
  };
  return show(value, 0);
};

const shown = (value) => {
  try {
    return inspect(value);
  } catch {
    return "[a value that can't be shown]";
  }
};

const DIRECTIVES = {
  __proto__: null,
  s: (value) => (typeof value === "string" ? value : shown(value)),
  d: (value) => (typeof value === "object" ? "NaN" : text(number(value))),
  i: (value) => (typeof value === "object" ? "NaN" : text(floor(number(value)))),
  f: (value) => (typeof value === "object" ? "NaN" : text(number(value))),
  j: (value) => stringify(value) ?? "undefined",
  o: shown,
  O: shown,
  c: () => "",
};

const format = (args) => {
  let out = "";
  let used = 0;
  if (typeof args[0] === "string" && args.length > 1) {
    const template = args[0];
    used = 1;
    for (let i = 0; i < template.length; i++) {
      const directive = template[i] === "%" ? template[i + 1] : undefined;
      if (directive === "%") {
        out += "%";
        i++;
      } else if (directive !== undefined && DIRECTIVES[directive] !== undefined && used < args.length) {
        out += DIRECTIVES[directive](args[used++]);
        i++;
      } else {
        out += template[i];
      }
    }
  }
  for (let i = used; i < args.length; i++) out += (i > 0 ? " " : "") + shown(args[i]);
  return out;
};

const logger = (level) => (...args) => {
  if (logFull) return; // formatting costs time even when nothing is kept
  try {
    write(level, format(args));
  } catch {
    write(level, "[a value that can't be shown]");
  }
};

const counts = create(null);
const started = create(null);
const label = (name) => (name === undefined ? "default" : text(name));
const groupStart = (...args) => {
  if (args.length > 0) apply(consoleObject.log, undefined, args);
  if (indent.length < 40) indent += "  ";
};
const consoleObject = {
  debug: logger("debug"),
  log: logger("log"),
  info: logger("info"),
  warn: logger("warn"),
  error: logger("error"),
  trace: logger("debug"),
  dir: (value) => write("log", shown(value)),
  dirxml: logger("log"),
  table: (value) => write("log", shown(value)),
  assert: (condition, ...args) => {
    if (!condition) write("error", "Assertion failed" + (args.length > 0 ? ": " + format(args) : ""));
  },
  count: (name) => {
    counts[label(name)] = (counts[label(name)] ?? 0) + 1;
    write("log", label(name) + ": " + counts[label(name)]);
  },
  countReset: (name) => { delete counts[label(name)]; },
  time: (name) => { started[label(name)] = dateNow(); },
  timeLog: (name) => write("log", label(name) + ": " + (dateNow() - (started[label(name)] ?? dateNow())) + "ms"),
  timeEnd: (name) => {
    consoleObject.timeLog(name);
    delete started[label(name)];
  },
  group: groupStart,
  groupCollapsed: groupStart,
  groupEnd: () => { indent = slice(indent, 2); },
  clear: () => {},
};
expose("console", consoleObject);
