// structuredClone, AbortController and friends: enough of the web platform for ordinary code.
const uncloneable = (value) => new DOMException(shown(value) + " could not be cloned.", "DataCloneError");

const cloneInto = (value, seen) => {
  if (typeof value === "function" || typeof value === "symbol") throw uncloneable(value);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (copy) => {
    seen.set(value, copy);
    return copy;
  };
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return keep(Object(value.valueOf()));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = cloneInto(value.buffer, seen);
    return keep(new value.constructor(buffer, value.byteOffset, value.length ?? value.byteLength));
  }
  if (value instanceof Map) {
    const copy = keep(new Map());
    value.forEach((item, name) => copy.set(cloneInto(name, seen), cloneInto(item, seen)));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    value.forEach((item) => copy.add(cloneInto(item, seen)));
    return copy;
  }
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) throw uncloneable(value);
  return cloneProperties(value, seen, keep);
};

const ERRORS = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const cloneProperties = (value, seen, keep) => {
  if (value instanceof Error) {
    const copy = keep(new (ERRORS[value.name] ?? Error)(value.message));
    defineProperty(copy, "stack", { value: value.stack, writable: true, configurable: true });
    if (value.cause !== undefined) copy.cause = cloneInto(value.cause, seen);
    return copy;
  }
  const copy = keep(isArray(value) ? new Array(value.length) : {});
  const names = objectKeys(value);
  for (let i = 0; i < names.length; i++) {
    defineProperty(copy, names[i], {
      value: cloneInto(value[names[i]], seen), writable: true, enumerable: true, configurable: true,
    });
  }
  return copy;
};
expose("structuredClone", function structuredClone(value) { return cloneInto(value, new Map()); });

class Event {
  constructor(type) { this.type = text(type); }
}

class EventTarget {
  #listeners = [];
  addEventListener(type, listener, options = {}) {
    if (!this.#listeners.some((item) => item.type === type && item.listener === listener)) {
      this.#listeners.push({ type, listener, once: Boolean(options?.once) });
    }
  }
  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((item) => item.type !== type || item.listener !== listener);
  }
  dispatchEvent(event) {
    for (const item of this.#listeners.filter((candidate) => candidate.type === event.type)) {
      if (item.once) this.removeEventListener(item.type, item.listener);
      if (typeof item.listener === "function") item.listener.call(this, event);
      else item.listener?.handleEvent?.(event);
    }
    return true;
  }
}

class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;
  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }
  static abort(reason) {
    const controller = new AbortController();
    controller.abort(reason);
    return controller.signal;
  }
  static timeout(delay) {
    const controller = new AbortController();
    setTimer(() => controller.abort(new DOMException("The operation timed out.", "TimeoutError")), delay, [], false);
    return controller.signal;
  }
  static any(signals) {
    const controller = new AbortController();
    for (const signal of signals) {
      if (signal.aborted) controller.abort(signal.reason);
      else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
    }
    return controller.signal;
  }
}

class AbortController {
  signal = new AbortSignal();
  abort(reason = new DOMException("The operation was aborted.", "AbortError")) {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.reason = reason;
    const event = new Event("abort");
    if (typeof this.signal.onabort === "function") this.signal.onabort(event);
    this.signal.dispatchEvent(event);
  }
}
expose("Event", Event);
expose("EventTarget", EventTarget);
expose("AbortSignal", AbortSignal);
expose("AbortController", AbortController);
