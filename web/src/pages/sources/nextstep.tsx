import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { connections } from "@/api/queries";
import type { Source } from "@/api/types";
import { visible } from "@/text/visible";
import { looks } from "@/ui/button";
import { Section } from "@/ui/page";
import { Connections } from "./connections";

/** It is connected; what is left is the credential that its calls need. */
export function NextStep({ source }: { source: Source }) {
  const known = useQuery(connections).data?.items ?? [];
  const ready = known.some((one) => one.source === source.namespace && one.status === "ready");
  return (
    <>
      <Section title={ready ? "✓ Connected, with a credential" : "3. Connected. Calls need a credential"}>
        <p className="mb-3 text-dim text-sm">
          {ready
            ? "Calls use it from now on."
            : "Enter it now or later: calls wait until you do. Agents and code never see it."}
        </p>
        <div className="flex flex-wrap gap-2">
          <Link
            to="/sources/$id"
            params={{ id: source.namespace }}
            className={looks(ready || source.auth.length === 0 ? "primary" : "plain")}
          >
            See its {source.toolCount.toLocaleString("en")} tools
          </Link>
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
