import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { connections } from "@/api/queries";
import type { Source } from "@/api/types";
import { visible } from "@/text/visible";
import { looks } from "@/ui/button";
import { Section } from "@/ui/page";
import { Connections } from "./connections";

function titleOf(source: Source, ready: boolean): string {
  if (source.unread) return ready ? "Connected. Reading its tools…" : "3. Connected. Its tools need a credential";
  return ready ? "✓ Connected, with a credential" : "3. Connected. Calls need a credential";
}

function adviceOf(source: Source, ready: boolean): string {
  if (source.unread) return "Its tools appear once it accepts a credential. Agents and code never see it.";
  if (ready) return "Calls use it from now on.";
  return "Enter it now or later: calls wait until you do. Agents and code never see it.";
}

/** It is connected; what is left is the credential that its calls need. */
export function NextStep({ source }: { source: Source }) {
  const known = useQuery(connections).data?.items ?? [];
  const ready = known.some((one) => one.source === source.namespace && one.status === "ready");
  return (
    <>
      <Section title={titleOf(source, ready)}>
        <p className="mb-3 text-dim text-sm">{adviceOf(source, ready)}</p>
        <div className="flex flex-wrap gap-2">
          {!source.unread && (
            <Link
              to="/sources/$id"
              params={{ id: source.namespace }}
              className={looks(ready || source.auth.length === 0 ? "primary" : "plain")}
            >
              See its {source.toolCount.toLocaleString("en")} tools
            </Link>
          )}
          <Link to="/sources/add" search={{}} className={looks("ghost")}>
            Add another
          </Link>
        </div>
        {source.error && <p className="mt-3 text-sm text-warn">{visible(source.error)}</p>}
      </Section>
      <Connections source={source} />
    </>
  );
}
