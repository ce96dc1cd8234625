import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { post } from "@/api/client";
import type { Delivery, Webhook } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tellProblem } from "@/ui/toast";
import { deliveries } from "./queries";

const LOOKS: Record<Delivery["status"], [Tone, string]> = {
  pending: ["quiet", "… pending"],
  delivered: ["ok", "✓ delivered"],
  failed: ["bad", "✕ failed"],
};

/** The newest of a webhook; `executor webhooks deliveries` has them all. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const asked = useQuery(deliveries(webhook.id));
  return (
    <Loaded asked={asked}>
      {({ items }) => (
        <ul aria-label={`Deliveries of ${visible(webhook.name)}`} className="divide-y divide-line text-sm">
          {items.map((one) => (
            <Entry key={one.id} one={one} webhook={webhook} />
          ))}
          {items.length === 0 && <li className="py-1 text-dim">No deliveries yet.</li>}
        </ul>
      )}
    </Loaded>
  );
}

function Entry({ one, webhook }: { one: Delivery; webhook: Webhook }) {
  const client = useQueryClient();
  const [tone, word] = LOOKS[one.status];
  const resend = useMutation({
    mutationFn: () =>
      post(`/v1/webhooks/${encodeURIComponent(webhook.id)}/deliveries/${encodeURIComponent(one.id)}/resend`),
    onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }),
    onError: tellProblem,
  });
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
      <Badge tone={tone}>{word}</Badge>
      <span className="min-w-0 break-words">{one.type}</span>
      <span className="min-w-0 break-words text-dim text-xs">
        <Ago at={one.attemptedAt ?? one.createdAt} />, {one.attempts === 1 ? "1 attempt" : `${one.attempts} attempts`}
        {one.responseStatus !== null && `, response ${one.responseStatus}`}
        {one.error && `: ${visible(one.error)}`}
      </span>
      {one.status !== "pending" && (
        <Button
          size="small"
          className="ml-auto"
          busy={resend.isPending}
          disabled={!webhook.enabled}
          onClick={() => resend.mutate()}
        >
          Send again
        </Button>
      )}
    </li>
  );
}
