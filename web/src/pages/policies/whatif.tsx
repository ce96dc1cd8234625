import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/api/client";
import type { Policy } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Changes } from "./changes";
import { simulation } from "./queries";

type Props = { policy: Policy; level: Policy[]; onDone: () => void };

/** What past calls would have come to with the policy at another place, before it is moved there. */
export function WhatIf({ policy, level, onDone }: Props) {
  const now = level.findIndex((one) => one.id === policy.id);
  const [place, setPlace] = useState(now === 0 ? Math.min(1, level.length - 1) : 0);
  const order = level.flatMap((one) => (one.id && one.id !== policy.id ? [one.id] : []));
  order.splice(place, 0, policy.id ?? "");
  const past = useQuery(simulation({ order }));
  const client = useQueryClient();
  const move = useMutation({
    mutationFn: () => post(`/v1/policies/${encodeURIComponent(policy.id ?? "")}/move`, { position: place }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["policies"] });
      onDone();
    },
  });
  return (
    <div className="space-y-4 text-sm">
      <code className="block break-words font-mono text-xs">{visible(policy.text)}</code>
      <Choice label="Position" value={place} onChange={(event) => setPlace(Number(event.target.value))}>
        {level.map((one, index) => (
          <option key={one.id} value={index}>
            {index + 1}
            {index === now ? " (current)" : ""}
          </option>
        ))}
      </Choice>
      <Changes asked={past} />
      {move.error ? <Trouble error={move.error} /> : null}
      <Button look="primary" disabled={place === now} busy={move.isPending} onClick={() => move.mutate()}>
        Move it there
      </Button>
      <Command text={command("policies", "simulate", "--order", order.join(","))} />
    </div>
  );
}
