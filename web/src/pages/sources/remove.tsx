import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { remove } from "@/api/client";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { ActionBadge, Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tell, tellProblem } from "@/ui/toast";
import { type Dependents, dependents, path } from "./queries";

export function Remove({ source }: { source: Source }) {
  const [asking, setAsking] = useState(false);
  return (
    <Section title="Disconnect">
      <p className="mb-3 text-dim text-sm">
        Its {source.toolCount.toLocaleString("en")} tools can no longer be called, and its credentials are removed. The
        audit log keeps its history.
      </p>
      <Button look="danger" onClick={() => setAsking(true)}>
        Disconnect…
      </Button>
      <Dialog open={asking} onClose={() => setAsking(false)} title={`Disconnect ${visible(source.name)}?`}>
        <Asked source={source} onKeep={() => setAsking(false)} />
      </Dialog>
    </Section>
  );
}

function Asked({ source, onKeep }: { source: Source; onKeep: () => void }) {
  const asked = useQuery({ ...dependents(source.id), staleTime: 0 });
  const navigate = useNavigate();
  const client = useQueryClient();
  const gone = useMutation({
    mutationFn: () => remove(path(source.id)),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["sources"] });
      tell(`${source.name} is disconnected`);
      void navigate({ to: "/" });
    },
    onError: tellProblem,
  });
  return (
    <>
      <p className="mb-3 text-sm">
        Executions that call <code className="font-mono">{visible(source.namespace)}.*</code> will fail with “unknown
        tool”.
      </p>
      <Loaded asked={asked} rows={3}>
        {(found) => <Felt found={found} />}
      </Loaded>
      <div className="mt-4">
        <Command text={command("sources", "remove", source.namespace)} />
      </div>
      <div className="mt-4 flex gap-2">
        <Button onClick={onKeep}>Keep it</Button>
        <Button look="danger" disabled={asked.isPending} busy={gone.isPending} onClick={() => gone.mutate()}>
          Disconnect
        </Button>
      </div>
    </>
  );
}

/** What would be felt. What would not be is said too, so that no one wonders. */
function Felt({ found }: { found: Dependents }) {
  return (
    <dl aria-label="What depends on it" className="space-y-2.5 rounded-lg border border-line p-3 text-sm">
      <Part title="Pending approvals" none="None.">
        {found.waiting.map((one) => (
          <Link
            key={one.interactionId}
            to="/executions/$id"
            params={{ id: one.executionId }}
            className="block break-all font-mono text-xs underline"
          >
            {visible(one.tool)}
          </Link>
        ))}
      </Part>
      <Part title="Credentials" none="None.">
        {found.connections.map((one) => (
          <span key={one.id} className="mr-2 inline-flex items-center gap-1">
            {visible(one.name)} <Badge>{one.scheme.replace("_", " ")}</Badge>
          </span>
        ))}
      </Part>
      <Part title="Policies for it" none="None.">
        {found.policies.map((one) => (
          <span key={one.id} className="flex flex-wrap items-center gap-1.5">
            <code className="break-all font-mono text-xs">{visible(one.pattern)}</code>
            <ActionBadge action={one.action as "allow" | "require_approval" | "deny"} />
          </span>
        ))}
      </Part>
      <Part title="Calls" none={`None in the last ${found.recent.executions} executions.`}>
        {found.recent.calls > 0 && (
          <span>
            {found.recent.calls.toLocaleString("en")} in the last {found.recent.executions} executions, the newest{" "}
            <Ago at={found.recent.lastAt} />
          </span>
        )}
      </Part>
    </dl>
  );
}

function Part({ title, none, children }: { title: string; none: string; children: ReactNode }) {
  const empty = Array.isArray(children) ? children.length === 0 : !children;
  return (
    <div>
      <dt className="font-medium text-xs">{title}</dt>
      <dd className={empty ? "text-dim" : ""}>{empty ? none : children}</dd>
    </div>
  );
}
