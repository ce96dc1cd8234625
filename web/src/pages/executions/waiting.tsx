import { Link } from "@tanstack/react-router";
import type { Execution } from "@/api/types";
import { because } from "@/text/because";
import { visible } from "@/text/visible";
import { looks } from "@/ui/button";
import { Ago } from "@/ui/time";
import { needsCredential } from "./settled";

export function Waiting({ execution }: { execution: Execution }) {
  return (
    <section aria-label="Waiting for a decision" className="rounded-xl border border-warn/40 bg-warn-soft px-4 py-3">
      <p className="font-medium text-sm text-warn">It waits for you</p>
      <ul className="mt-2 max-h-60 space-y-2 overflow-y-auto">
        {execution.interactions.map((one) => (
          <li key={one.id} className="flex flex-wrap items-center gap-2 text-sm">
            <code className="min-w-0 break-words font-mono text-xs">{visible(one.tool)}</code>
            <span className="text-xs">
              {visible(because(one.reason))}, asked <Ago at={one.createdAt} />
            </span>
            <Link
              to={needsCredential(one) ? "/connect/$id" : "/approvals/$id"}
              params={{ id: one.id }}
              className={`${looks("primary", "small")} ml-auto`}
            >
              {needsCredential(one) ? "Give the credential" : "Look and decide"}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
