// Requests: what a refusal throws, and what is sent again when a connection breaks.
//
// A request that could not be sent is sent again, one that was sent without an answer only if that is safe. Both only
// to a daemon that has answered before: one that never did is not waited for.
import { DaemonUnreachable, ExecutorError, errorFrom, InvalidRequest } from "./errors.js";
import { parse, write } from "./json.js";
import type { Locate } from "./location.js";

export interface Request {
  method: string;
  path: string;
  query?: Query | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  /** The longest silence. */
  timeoutMs?: number;
  /** Sending it twice does no more than sending it once. */
  repeatable?: boolean;
  signal?: AbortSignal | undefined;
}

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;
export type Fetch = typeof globalThis.fetch;

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
const BUSY = 503;
const TIMEOUT_MS = 120_000;
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

export class Exchange {
  readonly #locate: Locate;
  readonly #headers: Record<string, string>;
  readonly #reconnectMs: number;
  readonly #fetch: Fetch;
  #hasAnswered = false;

  constructor(locate: Locate, headers: Record<string, string>, reconnectMs: number, fetch: Fetch) {
    this.#locate = locate;
    this.#headers = headers;
    this.#reconnectMs = reconnectMs;
    this.#fetch = fetch;
  }

  /** The value of the answer. */
  send<T>(request: Request): Promise<T> {
    return this.#repeat(request, readValue) as Promise<T>;
  }

  /** An answer that is read by someone else: bytes, or a stream. */
  open(request: Request): Promise<Response> {
    return this.#repeat(request, async (answer) => {
      if (!answer.ok) await readValue(answer);
      return answer;
    });
  }

  pauses(signal?: AbortSignal): Pauses {
    return new Pauses(this.#reconnectMs, signal);
  }

  async #repeat<T>(request: Request, read: (answer: Response) => Promise<T>): Promise<T> {
    const pauses = this.pauses(request.signal);
    for (;;) {
      try {
        return await this.#try(request, read);
      } catch (error) {
        if (!this.#mayRepeat(request, error)) throw error;
        await pauses.pause(error);
      }
    }
  }

  async #try<T>(request: Request, read: (answer: Response) => Promise<T>): Promise<T> {
    const init = this.#write(request);
    const { url, token } = await this.#locate();
    if (token) init.headers.Authorization = `Bearer ${token}`;
    const tooLong = new AbortController();
    const timer = setTimeout(() => tooLong.abort(), request.timeoutMs ?? TIMEOUT_MS);
    const signal = request.signal ? AbortSignal.any([request.signal, tooLong.signal]) : tooLong.signal;
    try {
      const answer = await this.#fetch(url + request.path + queryText(request.query), { ...init, signal });
      this.#hasAnswered = true;
      return await read(answer);
    } catch (error) {
      if (error instanceof ExecutorError) throw error;
      request.signal?.throwIfAborted();
      throw unreachable(url, tooLong.signal.aborted ? new Error("it took too long") : error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A redirect is refused: it could carry the token elsewhere. */
  #write(request: Request): RequestInit & { headers: Record<string, string> } {
    const headers: Record<string, string> = { Accept: "application/json", ...this.#headers, ...request.headers };
    const init = { method: request.method, headers, redirect: "error" as const };
    if (request.body === undefined) return init;
    headers["Content-Type"] = "application/json";
    return { ...init, body: writeBody(request.body) };
  }

  #mayRepeat(request: Request, error: unknown): boolean {
    if (!(error instanceof ExecutorError)) return false;
    if (error.details.starting) return true; // it was never sent, and the daemon will answer soon
    if (!this.#hasAnswered) return false;
    if (error instanceof DaemonUnreachable) return Boolean(request.repeatable || error.details.unsent);
    return error.status === BUSY && Boolean(request.repeatable);
  }
}

/** Longer and longer ones, until the time is up. */
export class Pauses {
  readonly #endsAt: number;
  readonly #signal: AbortSignal | undefined;
  #next = FIRST_PAUSE_MS;

  constructor(milliseconds: number, signal?: AbortSignal) {
    this.#endsAt = Date.now() + milliseconds;
    this.#signal = signal;
  }

  /** Throws the error if the time is up. */
  async pause(error: unknown): Promise<void> {
    if (Date.now() >= this.#endsAt) throw error;
    const length = this.#next;
    this.#next = Math.min(LONGEST_PAUSE_MS, length * 2);
    await sleep(length, this.#signal);
  }
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

function writeBody(body: unknown): string {
  try {
    return write(body);
  } catch (error) {
    const hint = "pass plain data";
    throw new InvalidRequest(`the request can't be expressed as JSON: ${(error as Error).message}`, {
      code: "invalid_request",
      hint,
    });
  }
}

async function readValue(answer: Response): Promise<unknown> {
  const text = await answer.text();
  let value: unknown;
  try {
    value = text ? parse(text) : undefined;
  } catch {
    if (answer.ok) throw new ExecutorError("the answer is not JSON", { hint: "is this address an Executor?" });
  }
  if (answer.ok) return value;
  throw errorFrom(typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}, answer.status);
}

export function unreachable(url: string, error: unknown): DaemonUnreachable {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const unsent = UNSENT.has(cause?.code ?? "");
  const reason = cause?.message || cause?.code || String((error as Error).message);
  const where = url && ` at ${url}`;
  return new DaemonUnreachable(
    unsent ? `no one answers${where}: ${reason}` : `the daemon${where} did not answer: ${reason}`,
    {
      code: "daemon_unreachable",
      hint: "`executor status` shows whether it is running",
      details: { unsent },
    },
  );
}

function queryText(query: Query = {}): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) made.append(name, one);
    else if (value !== undefined && value !== null && value !== "") made.set(name, String(value));
  }
  const text = made.toString();
  return text && `?${text}`;
}

/** One segment of a path, whatever is in it. */
export function segment(text: string): string {
  if (!text || text === "." || text === "..") {
    throw new InvalidRequest("an id or a name is empty", {
      code: "invalid_request",
      hint: "pass the id of what you mean",
    });
  }
  return encodeURIComponent(text);
}
