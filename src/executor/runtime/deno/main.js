// One program's process. It reads a frame, runs, writes a frame, and never returns to the event loop, so nothing that
// Deno does in the background (modules, timers, network) can ever happen. Submitted code lives in a realm of its own,
// without Deno, modules and code made of strings; frames are read and written by functions that were taken before it.
import vm from "node:vm";

const drive = () => {
  const { runMicrotasks, destructureError } = Deno[Deno.internal].core;
  const { exit, stdin, stdout } = Deno;
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const parse = JSON.parse;
  const PRELUDE = 1, START = 2, RUN = 3, ANSWER = 4;
  const STEP = 1, TYPED = 3, READY = 4;

  const read = (size) => {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      const count = stdin.readSync(bytes.subarray(at));
      if (count === null) exit(0);
      at += count;
    }
    return bytes;
  };

  const receive = () => {
    const size = new DataView(read(4).buffer).getUint32(0, true);
    const body = read(size);
    return { kind: body[0], text: decoder.decode(body.subarray(1)) };
  };

  const send = (kind, text) => {
    const body = encoder.encode(text);
    const frame = new Uint8Array(5 + body.length);
    new DataView(frame.buffer).setUint32(0, body.length + 1, true);
    frame[4] = kind;
    frame.set(body, 5);
    for (let at = 0; at < frame.length; ) at += stdout.writeSync(frame.subarray(at));
  };

  const realm = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
  const prelude = new vm.Script(receive().text, { filename: "prelude.js" });
  const [boot, run, refuseAt, answer, turn, flush, ended, adoptEnd, setClock] = prelude.runInContext(realm);
  adoptEnd(() => {
    send(STEP, flush());
    exit(0);
  });

  // Of an error while compiling only the place and the message are read, and only what the engine wrote.
  const compiled = (code) => {
    Error.stackTraceLimit = 0; // else the place of a syntax error is not told
    try {
      return { script: new vm.Script(code, { filename: "main.ts" }) };
    } catch (error) {
      const { message, frames } = destructureError(error);
      const at = frames[0] ?? { lineNumber: 0, columnNumber: 0 };
      return { message: String(message), line: at.lineNumber ?? 0, column: at.columnNumber ?? 0 };
    }
  };

  const settle = () => {
    runMicrotasks();
    while (!ended() && turn()) runMicrotasks();
    send(STEP, flush());
  };

  const start = ({ clock, settings, attempt }, code) => {
    const made = compiled(code);
    if (made.script === undefined && attempt) return send(TYPED, "");
    setClock(clock);
    boot(settings);
    if (made.script === undefined) refuseAt(made.message, made.line, made.column);
    else run(made.script.runInContext(realm));
    settle();
  };

  // Were anybody to reach this realm after all, there is nothing in it but what the lines above use, and all of it is frozen.
  const { deleteProperty, getPrototypeOf } = Reflect;
  for (const shared of [Object, Function, Array, String, Number, Promise, Error, SyntaxError, RangeError, TypeError, Uint8Array,
    getPrototypeOf(Uint8Array), DataView, ArrayBuffer, Map, Set, WeakMap, Symbol, RegExp, Date]) {
    if (shared !== Error) Object.freeze(shared); // its stackTraceLimit is set above, again and again
    Object.freeze(shared.prototype);
  }
  const world = globalThis;
  const kept = ["Uint8Array", "DataView", "String", "Error", "Object", "Array", "globalThis"];
  for (const name of Object.getOwnPropertyNames(world)) if (!kept.includes(name)) deleteProperty(world, name);
  send(READY, "");
  for (;;) {
    const { kind, text } = receive();
    const cut = text.indexOf("\n");
    const head = parse(text.slice(0, cut));
    const rest = text.slice(cut + 1);
    if (kind === START || kind === RUN) {
      start(head, rest);
    } else if (kind === ANSWER) {
      setClock(head.clock);
      answer(head.seq, head.succeeded, rest);
      settle();
    }
  }
};

// Compiled once more under a name of its own, and called with nothing of this file below it: stacks that code looks at
// would otherwise tell where Executor is installed.
const named = new vm.Script(`(vm) => (${drive})()`, { filename: "host.js" }).runInThisContext();
setTimeout(named, 0, vm); // not as a microtask: those of the code could not run inside it
