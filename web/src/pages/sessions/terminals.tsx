import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { SessionDetails } from "@/api/types";
import { size } from "@/text/size";
import { Button, looks } from "@/ui/button";
import { Empty, Loaded, Trouble } from "@/ui/states";
import { path, terminals } from "./queries";
import { TerminalView } from "./terminalview";

/** The terminals of a session, one of them shown. */
export function Terminals({ session }: { session: SessionDetails }) {
  const asked = useQuery(terminals(session.id));
  const who = useQuery(whoami).data;
  const [chosen, choose] = useState("");
  const mayWrite = who?.actorId === session.actorId;
  const first = asked.data?.items[0]?.id;
  // Chosen, not only shown: one that has ended stays in sight until it is closed or another is chosen.
  if (!chosen && first) choose(first);
  return (
    <Loaded asked={asked} rows={5}>
      {({ items, recordings }) => (
        <div className="space-y-3">
          <div className="flex flex-wrap items-center gap-2">
            {items.map((one, at) => (
              <Button
                key={one.id}
                size="small"
                look={one.id === chosen ? "primary" : "plain"}
                aria-pressed={one.id === chosen}
                onClick={() => choose(one.id)}
              >
                Terminal {at + 1}
              </Button>
            ))}
            {mayWrite && session.status !== "stopped" && <Open session={session} onOpen={choose} />}
          </div>
          {chosen ? (
            <TerminalView
              key={chosen}
              session={session.id}
              terminal={chosen}
              mayWrite={mayWrite}
              onClose={() => choose("")}
            />
          ) : (
            <Empty title="No terminal is open">
              {mayWrite
                ? "A terminal is a shell where the agent works, with the same isolation."
                : "Only the person who started the session can open one."}
            </Empty>
          )}
          {recordings.length > 0 && (
            <ul aria-label="Recordings" className="space-y-1 text-sm">
              {recordings.map((one) => (
                <li key={one.terminalId} className="flex flex-wrap items-center gap-2">
                  <code className="break-all font-mono text-xs">{one.terminalId}</code>
                  <span className="text-dim text-xs">{size(one.size)}</span>
                  <a
                    className={looks("plain", "small")}
                    download={`${one.terminalId}.cast`}
                    href={`${path(session.id)}/terminals/${one.terminalId}/recording`}
                  >
                    Download the recording
                  </a>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Loaded>
  );
}

function Open({ session, onOpen }: { session: SessionDetails; onOpen: (id: string) => void }) {
  const client = useQueryClient();
  const [record, setRecord] = useState(false);
  const open = useMutation({
    mutationFn: () => post(`${path(session.id)}/terminals`, { cols: 80, rows: 24, record }),
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ["agent_sessions", "terminals", session.id] });
      onOpen(id);
    },
  });
  return (
    <>
      <Button size="small" busy={open.isPending} onClick={() => open.mutate()}>
        Open a terminal
      </Button>
      <label className="flex items-center gap-1.5 text-dim text-xs">
        <input type="checkbox" checked={record} onChange={(event) => setRecord(event.target.checked)} />
        record it
      </label>
      {open.error ? <Trouble error={open.error} /> : null}
    </>
  );
}
