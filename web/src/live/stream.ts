// The one stream of events. Read with fetch rather than EventSource: it can say which workspace it is about.

import { headers, Problem, readProblem } from "@/api/client";
import { parse } from "@/api/json";
import type { LiveEvent } from "@/api/types";

export type Connection = "connecting" | "live" | "reconnecting" | "refused";

type Listener = { event: (event: LiveEvent) => void; connection: (state: Connection) => void };

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const SILENCE = 40_000; // the daemon says something at least every 15 seconds

/** Follows until the signal ends it. After a break it continues behind the last event it has seen. */
export async function follow(listener: Listener, signal: AbortSignal): Promise<void> {
  let last = 0;
  let pause = FIRST_PAUSE;
  while (!signal.aborted) {
    try {
      await readOnce(
        last,
        signal,
        (event) => {
          last = event.id;
          listener.event(event);
        },
        () => {
          pause = FIRST_PAUSE;
          listener.connection("live");
        },
      );
    } catch (error) {
      if (error instanceof Problem && (error.status === 401 || error.status === 403)) {
        listener.connection("refused");
        return;
      }
    }
    if (signal.aborted) return;
    listener.connection("reconnecting");
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function readOnce(
  last: number,
  signal: AbortSignal,
  event: (event: LiveEvent) => void,
  opened: () => void,
): Promise<void> {
  const watch = new AbortController();
  const stop = () => watch.abort();
  signal.addEventListener("abort", stop);
  let silence = setTimeout(stop, SILENCE);
  try {
    const wanted = headers({ Accept: "text/event-stream", ...(last ? { "Last-Event-ID": String(last) } : {}) });
    const answer = await fetch("/v1/events?live=true", { headers: wanted, signal: watch.signal, cache: "no-store" });
    if (!answer.ok || !answer.body) throw new Problem(answer.status, await readProblem(answer));
    opened();
    for await (const { data } of frames(answer.body)) {
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE);
      if (data) event(parse(data) as LiveEvent);
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", stop);
  }
}

/** The name and the data of each frame; both are empty for a comment. */
export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<{ name: string; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const lines = part.split("\n");
      const values = (field: string) =>
        lines.filter((line) => line.startsWith(field)).map((line) => line.slice(field.length));
      yield { name: values("event: ")[0] ?? "", data: values("data: ").join("\n") };
    }
  }
}
