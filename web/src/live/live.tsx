import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { whoami } from "@/api/queries";
import type { LiveEvent } from "@/api/types";
import { notifyOf } from "./notices";
import { type Connection, follow } from "./stream";

type Held = { connection: Connection; since: number };

const State = createContext<Held>({ connection: "connecting", since: Date.now() });
export const useConnection = () => useContext(State).connection;
/** When the connection became what it is. */
export const useConnectedSince = () => useContext(State).since;

// What an event of a noun makes stale.
const STALE: Record<string, string[]> = {
  execution: ["executions", "status"],
  call: [],
  interaction: ["interactions"],
  source: ["sources", "tools", "status", "toolkits"],
  policy: ["policies", "decision", "matches"],
  secret: ["secrets"],
  connection: ["connections", "sources"],
  member: ["members"],
  invitation: ["invitations"],
  key: ["keys"],
  agent: ["agents", "toolkits"],
  toolkit: ["toolkits"],
  session: ["sessions"],
  agent_session: ["agent_sessions"],
  webhook: ["webhooks"],
  workspace: ["workspaces", "whoami"],
  organization: ["workspaces", "whoami"],
};

/** Renews what is on the screen. Many events at once renew it once. */
export function renewal(client: QueryClient) {
  const stale = new Set<string>();
  let waiting = false;
  const renew = () => {
    waiting = false;
    const keys = [...stale];
    stale.clear();
    for (const key of keys) client.invalidateQueries({ queryKey: key.split(" ") });
  };
  return (event: LiveEvent) => {
    const noun = event.type.split(".")[0] ?? "";
    // A log line changes nothing that a list shows, and there may be thousands.
    if (event.type !== "execution.log") for (const key of STALE[noun] ?? []) stale.add(key);
    if (event.executionId) stale.add(`execution ${event.executionId}`).add(`logs ${event.executionId}`);
    const asked = noun === "interaction" ? event.data.id : undefined;
    if (typeof asked === "string") stale.add(`interaction ${asked}`);
    if (!waiting) setTimeout(renew, 120);
    waiting = true;
  };
}

/** What was requested before the stream was open may have changed since without an event that said so. */
export function catchUp(client: QueryClient): void {
  const early = client.getQueryCache().findAll({ predicate: ({ state }) => state.data === undefined });
  void client.invalidateQueries();
  for (const { promise, queryKey } of early) {
    const again = () => client.invalidateQueries({ queryKey, exact: true });
    promise?.then(again, () => undefined);
  }
}

export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const router = useRouter();
  const [held, setHeld] = useState<Held>(() => ({ connection: "connecting", since: Date.now() }));
  useEffect(() => {
    const ending = new AbortController();
    const renew = renewal(client);
    const told = (connection: Connection) => {
      if (connection === "live") catchUp(client);
      if (connection === "refused") client.invalidateQueries({ queryKey: whoami.queryKey });
      setHeld((before) => (before.connection === connection ? before : { connection, since: Date.now() }));
    };
    const happened = (event: LiveEvent) => {
      renew(event);
      notifyOf(event, (href) => void router.navigate({ href }));
    };
    void follow({ event: happened, connection: told }, ending.signal);
    return () => ending.abort();
  }, [client, router]);
  return <State.Provider value={held}>{children}</State.Provider>;
}
