import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/api/client";
import type { Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { tellProblem } from "@/ui/toast";
import type { Act } from "./policies";
import { PolicyRow } from "./row";

type Props = { policies: Policy[]; may: boolean; onAct: (act: Act, policy: Policy) => void };
type Moved = { id: string; from: number; to: number; text: string };

/** The policies of one level, moved by dragging, with the arrows, or with Alt and an arrow key; said aloud each time. */
export function PolicyList({ policies, may, onAct }: Props) {
  const { rule: named } = useSearch({ from: "/shell/policies" });
  const [moved, setMoved] = useState<Moved | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const move = useMoving(setMoved);
  const go = (policy: Policy, to: number) => {
    const from = policies.indexOf(policy);
    if (!policy.id || to < 0 || to >= policies.length || to === from) return;
    move.mutate({ id: policy.id, from, to, text: policy.pattern });
  };
  const drop = (to: number) => {
    const policy = policies.find((one) => one.id === dragged);
    setDragged(null);
    setOver(null);
    if (policy) go(policy, to);
  };
  return (
    <>
      <ol className="-my-2 divide-y divide-line">
        {policies.map((policy, index) => (
          <PolicyRow
            key={policy.id}
            {...{ policy, may }}
            number={index + 1}
            count={policies.length}
            above={policies.find((one) => one.id === policy.shadowedBy)}
            named={policy.id === named}
            over={over === policy.id && dragged !== policy.id}
            onMove={(step) => go(policy, index + step)}
            onDrag={() => setDragged(policy.id)}
            onOver={() => dragged && setOver(policy.id)}
            onDrop={() => drop(index)}
            onAct={(act) => onAct(act, policy)}
          />
        ))}
      </ol>
      <Said
        moved={moved}
        count={policies.length}
        onUndo={(done) => move.mutate({ ...done, from: done.to, to: done.from })}
      />
    </>
  );
}

function useMoving(done: (moved: Moved) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, to }: Moved) => post(`/v1/policies/${encodeURIComponent(id)}/move`, { position: to }),
    onSuccess: (_, moved) => done(moved),
    onSettled: () => client.invalidateQueries({ queryKey: ["policies"] }),
    onError: tellProblem,
  });
}

function Said({ moved, count, onUndo }: { moved: Moved | null; count: number; onUndo: (moved: Moved) => void }) {
  return (
    <div className="flex items-center gap-2 text-dim text-xs">
      <p role="status" className={moved ? "pt-3" : ""}>
        {moved && `${visible(moved.text)} is now number ${moved.to + 1} of ${count}.`}
      </p>
      {moved && (
        <Button size="small" className="mt-3" onClick={() => onUndo(moved)}>
          Undo
        </Button>
      )}
    </div>
  );
}
