import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "@/api/client";
import type { Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";

/** What keeps a policy from holding where its pattern would let it, and the way to let it hold again. */
export function Restraint({ policy, may }: { policy: Policy; may: boolean }) {
  const client = useQueryClient();
  const renew = useMutation({
    mutationFn: () => post(`/v1/policies/${encodeURIComponent(policy.id ?? "")}/renew`, {}),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["policies"] });
      tell("The policy applies again");
    },
  });
  const names = policy.excludedNames.map((name) => visible(name)).join(", ");
  if (!policy.retiredAt && !names) return null;
  return (
    <span className="mt-0.5 block text-warn text-xs">
      {policy.retiredAt
        ? "Retired: its source was removed, so it no longer applies. "
        : `It does not apply to ${names}, added later. `}
      {may && (
        <Button size="small" look="ghost" busy={renew.isPending} onClick={() => renew.mutate()}>
          Apply it
        </Button>
      )}
      {renew.error ? <Trouble error={renew.error} /> : null}
    </span>
  );
}
