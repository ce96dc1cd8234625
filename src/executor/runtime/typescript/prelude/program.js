// One program: what it proposed, logged and ended with. `flush` gives the host one line an item:
//   c<seq> "path"⏎{arguments}   t<seq> <milliseconds>   l<level>"text"   v<value>   f{failure}
const program = {
  __proto__: null, started: 0, calls: 0, output: 0, logs: 0, offset: 0, endOf: null, stray: null, inserted: null,
  callable: false, argumentRoom: 0,
};
const pending = create(null);
let pendingCount = 0;
let seq = 0;
let items = "";
let end = null;
let stop = () => {}; // the driver's: raises an error that code can't catch

const adopt = (given) => { stop = given; };

const propose = (kind, detail, entry) => {
  if (end !== null) return;
  if (seq >= program.calls) {
    end = failureText(
      "call_limit",
      "the code made more than " + program.calls + " calls",
      "make fewer calls, or raise the limit on calls of this execution",
    );
    stop();
    return;
  }
  seq += 1;
  pending[seq] = entry;
  pendingCount += 1;
  items += kind + seq + " " + detail + "\n";
};

const MOST = {
  __proto__: null, code: 100, name: 200, message: 8000, hint: 2000, stack: 16000, status: 200, details: 64000, all: 100000,
};

const failureText = (code, message, hint, details = "{}") => {
  const head = 'f{"code":' + quote(slice(code, 0, MOST.code)) + ',"message":' + quote(slice(message, 0, MOST.message)) +
    ',"hint":' + quote(slice(hint, 0, MOST.hint)) + ',"details":';
  return head + (head.length + details.length < MOST.all ? details : "{}") + "}\n";
};

const fail = (thrown) => {
  if (end !== null) return;
  try {
    end = uncaught(thrown);
  } catch {
    end = failureText("code_error", "the code threw a value that can't be shown", "", '{"name":"Error"}');
  }
};

const uncaught = (thrown) => {
  if (typeof thrown !== "object" || thrown === null) {
    return failureText("code_error", inspect(thrown), "throw an Error to see the line", '{"name":"Error"}');
  }
  if (!(thrown instanceof GlobalError) && thrown.message === undefined) {
    return failureText("code_error", inspect(thrown), "throw an Error to see the line", '{"name":"Error"}');
  }
  const name = slice(text(thrown.name ?? "Error"), 0, MOST.name);
  const message = slice(text(thrown.message ?? ""), 0, MOST.message);
  const frames = userFrames(thrown);
  const at = '"line":' + frames.line + ',"column":' + frames.column;
  const code = weakGet(givenCodes, thrown);
  if (code !== undefined) return uncaughtToolError(thrown, code, message, at);
  if (name === "InternalError" && message === "out of memory") {
    return failureText("memory_limit", "the code used more memory than it may", "keep less in memory at once");
  }
  const stack = quote(slice(name + ": " + message + "\n" + frames.stack, 0, MOST.stack));
  const hint = weakGet(errorHints, thrown) ?? "";
  return failureText("code_error", name + ": " + message, hint, '{"name":' + quote(name) + "," + at + ',"stack":' + stack + "}");
};

const carried = (value, most) => {
  const form = carriable(value, most, false);
  const json = form.problem === null ? serialized(form.plain) : "null";
  return json.length > most ? "null" : json;
};

const uncaughtToolError = (error, code, message, at) => {
  const details = '{"status":' + carried(error.status, MOST.status) + ',"details":' + carried(error.details, MOST.details) +
    ',"retryable":' + (error.retryable ? "true" : "false") + "," + at + "}";
  return failureText(code, message, text(error.hint ?? ""), details);
};

const refusals = {
  __proto__: null,
  cyclic: "refers back to itself",
  deep: "is nested deeper than " + DEPTH + " levels",
};

const succeed = (value) => {
  if (end !== null) return;
  const form = carriable(value, program.output, false);
  if (form.problem !== null) {
    const { what, path } = form.problem;
    end = what === "large" ? tooLarge() : unserializable(what, "$" + shortened(path));
    return;
  }
  const json = serialized(form.plain);
  end = json.length > program.output ? tooLarge() : "v" + json + "\n";
};

const tooLarge = () =>
  failureText(
    "output_limit",
    "the result is larger than " + program.output + " bytes",
    "return only what is needed, for example a count or the first items",
  );

const shortened = (path) => (path.length > 200 ? slice(path, 0, 200) + "…" : path);

const unserializable = (what, path) =>
  failureText(
    "unserializable_result",
    "the result can't be written as JSON: " + path + " " + (refusals[what] ?? "is " + what),
    replacement(what),
    '{"path":' + quote(path) + "}",
  );

const boot = (json) => {
  const given = parse(json);
  program.started = dateNow();
  program.calls = given.calls;
  program.output = given.output;
  program.logs = given.logs;
  program.offset = given.offset;
  program.endOf = given.end;
  program.stray = given.stray;
  program.inserted = given.inserted;
  program.callable = given.callable;
  program.argumentRoom = given.output;
  reseed(given.seed);
};

const run = async (main) => {
  try {
    let value = await main();
    if (program.callable && typeof value === "function" && toolPath(value) === undefined) value = await value();
    succeed(value);
  } catch (error) {
    fail(error);
  }
};

const syntaxError = (message, line, column) =>
  failureText("syntax_error", message, "", '{"line":' + line + ',"column":' + column + "}");

// A place beyond the last line is in the wrapper, which the user did not write.
const refuse = (error) => {
  const message = text(error.message);
  if (error instanceof SyntaxError) {
    const frames = userFrames(error);
    if (frames.line <= program.endOf[0]) end = syntaxError(message, frames.line, frames.column);
    else if (program.stray[0] > 0) end = syntaxError("a bracket that closes nothing", program.stray[0], program.stray[1]);
    else end = syntaxError("unexpected end of the code", program.endOf[0], program.endOf[1]);
  } else {
    fail(error);
  }
};

const answer = (number, succeeded, json) => {
  const entry = pending[number];
  if (entry === undefined || end !== null) return;
  delete pending[number];
  pendingCount -= 1;
  try {
    deliver(entry, succeeded, json);
  } catch (error) {
    fail(error); // no room to parse it in
  }
};

const deliver = (entry, succeeded, json) => {
  if (entry.timer !== null) {
    fire(entry.timer);
  } else if (succeeded) {
    entry.resolve(parse(json));
  } else {
    const fields = parse(json);
    fill(entry.error, fields);
    weakSet(givenCodes, entry.error, text(fields.code ?? "tool_error"));
    entry.reject(entry.error);
  }
};

const turn = () => {
  if (end !== null || due.isEmpty()) return false;
  fire(due.shift());
  return true;
};

const ended = () => end !== null;

const flush = () => {
  if (end === null && pendingCount === 0) {
    end = failureText(
      "code_error",
      "deadlock: the code awaits something that can never happen",
      "every promise the code awaits must come from a tool call, a timer, or other code that settles it",
      '{"name":"Deadlock"}',
    );
  }
  const out = items + takeLogs() + (end ?? "");
  items = "";
  program.argumentRoom = program.output;
  return out;
};
