import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get, put } from "@/api/client";
import type { components } from "@/api/schema";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import { Loaded, Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { path } from "./queries";

type Hints = components["schemas"]["HintsView"];

/** What an MCP server says of its own tools, and in what a person trusts it. */
export function ServerHints({ source }: { source: Source }) {
  const asked = useQuery({
    queryKey: ["sources", source.id, "hints", source.refreshedAt],
    queryFn: ({ signal }) => get(path(source.id, "/hints"), signal),
  });
  return (
    <Section
      title="Tools marked as read-only"
      about="The server says so. If you trust it, Executor creates a policy for these tools in their current form; tools that change need approval again"
    >
      <Loaded asked={asked} rows={2}>
        {(hints) =>
          hints.claimed.length > 0 ? (
            <Chosen key={hints.trusted.join()} source={source} hints={hints} />
          ) : (
            <p className="text-dim text-sm">The server marks none of its tools as read-only.</p>
          )
        }
      </Loaded>
    </Section>
  );
}

function Chosen({ source, hints }: { source: Source; hints: Hints }) {
  const client = useQueryClient();
  const [wanted, setWanted] = useState(hints.trusted);
  const save = useMutation({
    mutationFn: (tools: string[]) =>
      put(path(source.id, "/hints"), tools.length ? { decision: "trust", tools } : { decision: "ask" }),
    onSuccess: (told) => {
      client.invalidateQueries({ queryKey: ["sources", source.id, "hints"] });
      client.invalidateQueries({ queryKey: ["policies"] });
      client.invalidateQueries({ queryKey: ["decision"] });
      tell(told.trusted.length ? `${told.trusted.length} tools are trusted as reads` : "Each call needs approval");
    },
  });
  const turn = (one: string) =>
    setWanted(wanted.includes(one) ? wanted.filter((other) => other !== one) : [...wanted, one]);
  return (
    <div className="max-w-2xl space-y-3">
      <ul className="max-h-64 space-y-1 overflow-y-auto rounded-lg border border-line p-3">
        {hints.claimed.map((one) => (
          <li key={one}>
            <Tick
              checked={wanted.includes(one)}
              onChange={() => turn(one)}
              label={<code className="break-all font-mono text-xs">{visible(one)}</code>}
            />
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-2">
        <Button look="primary" busy={save.isPending} onClick={() => save.mutate(wanted)}>
          {wanted.length ? `Trust ${wanted.length} of ${hints.claimed.length}` : "Require approval for each call"}
        </Button>
        <Button onClick={() => setWanted(wanted.length === hints.claimed.length ? [] : hints.claimed)}>
          {wanted.length === hints.claimed.length ? "Choose none" : "Choose all"}
        </Button>
        {hints.policyId && (
          <Link to="/policies" search={{ rule: hints.policyId }} className="text-sm underline">
            The policy
          </Link>
        )}
      </div>
      {save.error ? <Trouble error={save.error} /> : null}
      <Command text={command("sources", "hints", source.namespace, "trust")} />
    </div>
  );
}
