import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Loaded } from "@/ui/states";
import type { Answer } from "./answer";

type Props = { asked: Interaction; busy: boolean; onSave: (answer: Answer) => void };

/** The policy that the tool is allowed as reads are, before it is saved. */
export function AsRead({ asked, busy, onSave }: Props) {
  const draft = useQuery({
    queryKey: ["interaction", asked.id, "rule", "read"],
    queryFn: ({ signal }) => get(`/v1/interactions/${asked.id}/rule?treatAsRead=true`, signal),
    retry: false,
  });
  return (
    <section aria-label="Treat as read" data-tall className="rounded-xl border border-line bg-canvas p-4">
      <Loaded asked={draft} rows={2}>
        {({ rule }) => (
          <div className="space-y-3 text-sm">
            <p>
              Allows this tool like a read, for every caller: unless another policy decides, and until the tool changes.
            </p>
            <code className="block break-words rounded-lg bg-ok-soft px-3 py-1.5 font-mono text-ok text-xs [overflow-wrap:anywhere]">
              + {visible(rule.text)}
            </code>
            <Button look="primary" disabled={busy} onClick={() => onSave({ act: "approve", treatAsRead: true })}>
              Save the policy and allow
            </Button>
          </div>
        )}
      </Loaded>
    </section>
  );
}
