import { useQuery } from "@tanstack/react-query";
import type { Policy } from "@/api/types";
import { policies } from "@/pages/policies/queries";
import { visible } from "@/text/visible";
import { Tick } from "@/ui/field";

type Props = { namespace: string; inherit: boolean; onInherit: (inherit: boolean) => void };

/** Policies that allow calls in the namespace already. A new source gets none of them unless someone says so. */
export function Covering({ namespace, inherit, onInherit }: Props) {
  const found = (useQuery(policies).data?.items ?? []).filter((policy) => covers(policy, namespace));
  if (!namespace || found.length === 0) return null;
  return (
    <div className="space-y-2 rounded-lg bg-warn-soft p-3 text-sm">
      <p>
        These policies allow calls in <code>{visible(namespace)}</code>. They don't apply to a new source:
      </p>
      <ul className="space-y-1">
        {found.map((policy) => (
          <li key={policy.id}>
            <code className="break-words font-mono text-xs [overflow-wrap:anywhere]">{visible(policy.text)}</code>
          </li>
        ))}
      </ul>
      <Tick checked={inherit} onChange={() => onInherit(!inherit)} label="Apply these policies to this source" />
    </div>
  );
}

function covers(policy: Policy, namespace: string): boolean {
  const open = policy.action === "allow" && !policy.sourceId && !policy.retiredAt;
  return open && [namespace, "*", "**"].includes(policy.pattern.split(".")[0] ?? "");
}
