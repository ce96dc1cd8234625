import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { EyeOff } from "lucide-react";
import { useState } from "react";
import { post } from "@/api/client";
import { write } from "@/api/json";
import { anonymousWorkspace } from "@/api/queries";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { Loaded, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { useSignOut } from "./entering";

const WHEN: Intl.DateTimeFormatOptions = {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
};

/** For a browser without an account: that everything here ends, when, and how its agent gets in. */
export function VisitorBar() {
  const here = useQuery(anonymousWorkspace).data;
  const [open, setOpen] = useState<"" | "key" | "leave">("");
  const close = () => setOpen("");
  return (
    <aside
      aria-label="Anonymous workspace"
      className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b bg-warn-soft px-4 py-1.5 text-sm"
    >
      <EyeOff size={15} aria-hidden="true" className="shrink-0 text-warn max-sm:hidden" />
      <p className="min-w-0 flex-1 basis-60">
        <b className="font-medium">Anonymous workspace.</b>{" "}
        {here?.lapsesAt && (
          <>
            It is deleted, with everything in it, on{" "}
            <time dateTime={here.lapsesAt}>{new Date(here.lapsesAt).toLocaleString("en", WHEN)}</time>.
          </>
        )}
      </p>
      <Button size="small" onClick={() => setOpen("key")}>
        Agent key
      </Button>
      <Button size="small" look="ghost" onClick={() => setOpen("leave")}>
        Leave
      </Button>
      <Dialog open={open === "key"} onClose={close} title="Connect your agent">
        <AgentKey />
      </Dialog>
      <Dialog open={open === "leave"} onClose={close} title="Leave this workspace?">
        <Leave onStay={close} />
      </Dialog>
    </aside>
  );
}

/** The key is shown when it is created, and never again. */
export function AgentKey() {
  const client = useQueryClient();
  const asked = useQuery(anonymousWorkspace);
  const make = useMutation({
    mutationFn: () => post("/v1/auth/anonymous/key"),
    onSuccess: () => client.invalidateQueries({ queryKey: anonymousWorkspace.queryKey }),
  });
  const token = make.data?.accessToken;
  return (
    <Loaded asked={asked} rows={3}>
      {({ mcpUrl, agentKey }) => (
        <div className="space-y-3">
          <p className="text-dim text-sm">
            Your agent uses this workspace over MCP. Its key can't approve anything: only this browser can.
          </p>
          {make.error ? <Trouble error={make.error} /> : null}
          {token ? (
            <div role="status" className="space-y-2 rounded-xl border border-warn/40 bg-warn-soft p-3">
              <p className="font-medium text-sm text-warn">
                The key of your agent: copy it now, it is shown only once.
              </p>
              <Command text={token} label="Copy the key" />
              <Command text={configuration(mcpUrl, token)} label="Copy the configuration" />
            </div>
          ) : (
            <Command text={mcpUrl} label="Copy the address" />
          )}
          {agentKey && !token && (
            <p className="text-sm">
              The current key begins with <code className="font-mono text-xs">{visible(agentKey.prefix)}</code> and was
              last used: <Ago at={agentKey.lastUsedAt} />.
            </p>
          )}
          <Button look={agentKey ? "plain" : "primary"} busy={make.isPending} onClick={() => make.mutate()}>
            {agentKey ? "Replace the key" : "Create a key"}
          </Button>
          {agentKey && <p className="text-dim text-xs">A new key ends the current one at once.</p>}
        </div>
      )}
    </Loaded>
  );
}

function configuration(url: string, token: string): string {
  const server = { type: "http", url, headers: { Authorization: `Bearer ${token}` } };
  return write({ mcpServers: { executor: server } }, 2);
}

function Leave({ onStay }: { onStay: () => void }) {
  const leave = useSignOut();
  const [busy, setBusy] = useState(false);
  return (
    <div className="space-y-4">
      <p className="text-sm">
        Everything in it is deleted now: executions, results, sources and the key of your agent. No one can come back to
        it.
      </p>
      <div className="flex justify-end gap-2">
        <Button onClick={onStay}>Stay</Button>
        <Button
          look="danger"
          busy={busy}
          onClick={() => {
            setBusy(true);
            void leave().finally(() => setBusy(false));
          }}
        >
          Leave and delete
        </Button>
      </div>
    </div>
  );
}
