// Server-sent events, across broken connections and restarts of the daemon.
import { DaemonUnreachable, ExecutorError } from "./errors.js";
import { type Exchange, type Request, unreachable } from "./exchange.js";
import { parse } from "./json.js";

/** One server-sent event; `data` is read already. */
export interface ServerEvent {
  id: string;
  type: string;
  data: unknown;
}

const SILENCE_MS = 60_000; // the daemon sends a heartbeat every 15 seconds

/** Whether there is no more to come. A daemon that stops ends its streams too. */
export type HasEnded = () => Promise<boolean>;

/** From the last event on after a broken connection. Without `hasEnded`, more always comes. */
export async function* follow(
  exchange: Exchange,
  request: Request,
  isLast: (event: ServerEvent) => boolean,
  hasEnded?: HasEnded,
): AsyncGenerator<ServerEvent, void, undefined> {
  let last = "";
  let pauses = exchange.pauses(request.signal);
  for (;;) {
    const before = last;
    let failure: unknown;
    try {
      for await (const event of readOnce(exchange, request, last)) {
        last = event.id || last;
        pauses = exchange.pauses(request.signal);
        yield event;
        if (isLast(event)) return;
      }
    } catch (error) {
      if (!(error instanceof DaemonUnreachable)) throw error;
      failure = error;
    }
    if (failure === undefined && last === before && hasEnded && (await hasEnded())) return;
    await pauses.pause(failure ?? unreachable("", new Error("it ended the stream")));
  }
}

async function* readOnce(exchange: Exchange, request: Request, last: string): AsyncGenerator<ServerEvent> {
  const silence = new AbortController();
  const headers = { ...request.headers, Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
  const signal = request.signal ? AbortSignal.any([request.signal, silence.signal]) : silence.signal;
  const answer = await exchange.open({ ...request, headers, signal, repeatable: true });
  if (!answer.body || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    silence.abort();
    throw new ExecutorError("the daemon answered without a stream", { hint: "is this address an Executor?" });
  }
  const reader = answer.body.getReader();
  const events = new EventReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      timer = setTimeout(() => silence.abort(new Error("it is silent")), SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      yield* events.feed(value);
    }
  } catch (error) {
    request.signal?.throwIfAborted();
    if (error instanceof ExecutorError) throw error;
    throw unreachable("", error);
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined);
  }
}

/** Events out of bytes that may be cut anywhere. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #fields: Record<string, string> = {};

  *feed(chunk: Uint8Array): Generator<ServerEvent> {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#readLine(line);
      if (event) yield event;
    }
  }

  #readLine(line: string): ServerEvent | undefined {
    if (line) {
      const [name = "", ...value] = line.split(": ");
      this.#fields[name] = value.join(": ");
      return undefined;
    }
    const { id = "", event = "", data } = this.#fields;
    this.#fields = {};
    return data === undefined ? undefined : { id, type: event, data: parse(data) }; // else a heartbeat
  }
}
