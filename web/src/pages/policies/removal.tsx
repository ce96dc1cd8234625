import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { remove } from "@/api/client";
import type { Policy } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { Changes } from "./changes";
import { addCommand, draftOf } from "./command";
import { simulation } from "./queries";

type Props = { policy: Policy; onDone: () => void };

/** Shown with what it would change. To have it back is one command, at the same place. */
export function Removal({ policy, onDone }: Props) {
  const client = useQueryClient();
  const past = useQuery(simulation({ without: [policy.id ?? ""] }));
  const gone = useMutation({
    mutationFn: () => remove(`/v1/policies/${encodeURIComponent(policy.id ?? "")}`),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["policies"] });
      tell("Policy removed");
      onDone();
    },
  });
  return (
    <div className="space-y-4 text-sm">
      <pre className="overflow-x-auto whitespace-pre-wrap break-words rounded-lg bg-bad-soft px-3 py-2 font-mono text-bad text-xs">
        - {visible(policy.text)}
      </pre>
      <Changes asked={past} />
      {gone.error ? <Trouble error={gone.error} /> : null}
      <div className="flex gap-2">
        <Button look="danger" busy={gone.isPending} onClick={() => gone.mutate()}>
          Remove
        </Button>
        <Button onClick={onDone}>Keep it</Button>
      </div>
      <Command text={command("policies", "remove", policy.id ?? "")} />
      <p className="text-dim text-xs">To restore it later:</p>
      <Command text={addCommand(draftOf(policy), policy.position)} label="Copy the command that restores it" />
    </div>
  );
}
