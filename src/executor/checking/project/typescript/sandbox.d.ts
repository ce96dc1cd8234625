// What a TypeScript sandbox offers besides the language itself.

declare const console: {
  [method in
    | "log" | "info" | "warn" | "error" | "debug" | "trace" | "dir" | "table" | "assert" | "count" | "countReset"
    | "group" | "groupCollapsed" | "groupEnd" | "time" | "timeEnd" | "timeLog"]: (...values: any[]) => void;
};

declare function setTimeout(callback: (...values: any[]) => void, delay?: number, ...values: any[]): number;
declare function setInterval(callback: (...values: any[]) => void, delay?: number, ...values: any[]): number;
declare function setImmediate(callback: (...values: any[]) => void, ...values: any[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function clearImmediate(id?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare const performance: { now(): number; readonly timeOrigin: number };
declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
};

/** What a failing call throws. */
declare class ToolError extends Error {
  constructor(message?: string, fields?: any);
  code: string;
  status: number | null;
  details: any;
  retryable: boolean;
  hint: string;
}

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(data?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare class URLSearchParams {
  constructor(init?: string | URLSearchParams | Iterable<[string, any]> | Record<string, any>);
  readonly size: number;
  append(name: string, value: any): void;
  delete(name: string, value?: any): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: any): boolean;
  set(name: string, value: any): void;
  sort(): void;
  forEach(callback: (value: string, name: string, all: URLSearchParams) => void): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class URL {
  constructor(address: string | URL, base?: string | URL);
  static canParse(address: string | URL, base?: string | URL): boolean;
  static parse(address: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toJSON(): string;
}

declare class Event {
  constructor(type: string, options?: any);
  readonly type: string;
}
declare class EventTarget {
  addEventListener(type: string, listener: any, options?: any): void;
  removeEventListener(type: string, listener: any, options?: any): void;
  dispatchEvent(event: Event): boolean;
}
declare class AbortSignal extends EventTarget {
  static abort(reason?: any): AbortSignal;
  static timeout(delay: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: any;
  throwIfAborted(): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: any): void;
}

/** Every call as it is, but with results that may be anything. */
type ExecutorLoose<T> = T extends (...given: infer A) => any
  ? ((...given: A) => Promise<any>) & ExecutorLooseGroup<T>
  : ExecutorLooseGroup<T>;
type ExecutorLooseGroup<T> = { [name in keyof T]: ExecutorLoose<T[name]> };
