import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { get, headers, Problem, query, readProblem } from "@/api/client";
import { parse } from "@/api/json";
import type { Session, SessionMessage } from "@/api/types";
import { frames } from "@/live/stream";
import { path, shown } from "./queries";
import { type Append, EMPTY, type Transcript, withAppend, withRecords } from "./transcript";

const PAGE = 200;
const PAUSE = 1000;

type Followed = {
  transcript: Transcript | undefined;
  error: unknown;
  /** Whether there are records before the first one. */
  earlier: boolean;
  readEarlier: () => Promise<void>;
};

/** The end of a transcript, then everything that is added to it. */
export function useTranscript(id: string): Followed {
  const client = useQueryClient();
  const [transcript, setTranscript] = useState<Transcript>();
  const [error, setError] = useState<unknown>();
  const [earlier, setEarlier] = useState(false);
  const first = useRef(0);

  const read = async (before: number | undefined, signal?: AbortSignal) => {
    const at = before ?? Number.MAX_SAFE_INTEGER;
    const { items } = await get(`${path(id)}/messages${query({ before: at, limit: PAGE })}`, signal);
    first.current = Math.min(...items.map((one) => one.position), at);
    setEarlier(items.length === PAGE);
    return items;
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `read` is another function each time, and does the same
  useEffect(() => {
    const ending = new AbortController();
    let held = EMPTY;
    let frame = 0;
    // An agent writes word by word: the page shows as much as it can draw.
    const hold = (made: Transcript) => {
      held = made;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        const drawn = held;
        setTranscript((before) => withRecords(before ?? EMPTY, [...drawn.records.values()]));
      });
    };
    const listener: Listener = {
      message: (record) => hold(withRecords(held, [record])),
      append: (more) => hold(withAppend(held, more)),
      session: (session) => client.setQueryData(shown(id).queryKey, (known) => known && { ...known, ...session }),
    };
    const run = async () => {
      try {
        hold(withRecords(EMPTY, await read(undefined, ending.signal)));
        await follow(id, () => held.sequence, listener, ending.signal);
      } catch (problem) {
        if (!ending.signal.aborted) setError(problem);
      }
    };
    void run();
    return () => {
      ending.abort();
      cancelAnimationFrame(frame);
    };
  }, [id, client]);

  const readEarlier = async () => {
    const items = await read(first.current);
    setTranscript((now) => withRecords(now ?? EMPTY, items));
  };
  return { transcript, error, earlier, readEarlier };
}

type Listener = {
  message: (record: SessionMessage) => void;
  append: (more: Append) => void;
  session: (session: Session) => void;
};

/** Until the signal ends it. After a break it continues behind the last record that was seen. */
async function follow(id: string, last: () => number, listener: Listener, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await readOnce(id, last(), listener, signal);
    } catch (error) {
      if (error instanceof Problem && error.status >= 400 && error.status < 500) throw error;
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

async function readOnce(id: string, after: number, listener: Listener, signal: AbortSignal): Promise<void> {
  const wanted = headers({ Accept: "text/event-stream" });
  const answer = await fetch(`${path(id)}/messages${query({ after })}`, { headers: wanted, signal, cache: "no-store" });
  if (!answer.ok || !answer.body) throw new Problem(answer.status, await readProblem(answer));
  for await (const { name, data } of frames(answer.body)) {
    if (!data) continue;
    const value = parse(data);
    if (name === "append") listener.append(value as Append);
    else if (name === "session") listener.session(value as Session);
    else if (name === "message") listener.message(value as SessionMessage);
  }
}
