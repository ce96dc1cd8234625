import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Problem, post } from "@/api/client";

/** What became of one request of a batch. */
export type Decided = { status: string; problem?: string };
export type Act = { act: "approve" } | { act: "deny"; reason: string };

const AT_ONCE = 4;

/** Decides several requests, each by a request of its own, a few at a time. One that was settled or asked again
 * meanwhile is left as it is; when the daemon is gone the rest is not sent. */
export function useBatch() {
  const client = useQueryClient();
  const [decided, setDecided] = useState<ReadonlyMap<string, Decided>>(new Map());
  const [sending, setSending] = useState(0);
  const busy = useRef(false);

  const decide = async (given: Act, ids: readonly string[]) => {
    if (busy.current) return;
    busy.current = true;
    setSending(ids.length);
    const left = [...ids];
    const note = (id: string, one: Decided) => setDecided((before) => new Map(before).set(id, one));
    const work = async () => {
      for (let id = left.shift(); id !== undefined; id = left.shift()) {
        const became = await decideOne(id, given);
        if (became.status === "unreachable") left.length = 0;
        note(id, became);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    busy.current = false;
    setSending(0);
    await client.invalidateQueries({ queryKey: ["interactions"] });
  };
  return { decided, sending, decide };
}

async function decideOne(id: string, { act, ...body }: Act): Promise<Decided> {
  try {
    const settled = await post(`/v1/interactions/${encodeURIComponent(id)}/${act}`, body);
    return { status: settled.status };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { status: error instanceof Problem && error.status === 0 ? "unreachable" : "skipped", problem };
  }
}
