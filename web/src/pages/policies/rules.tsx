import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/api/client";
import type { Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { tellProblem } from "@/ui/toast";
import type { Act } from "./policies";
import { RuleRow } from "./row";

type Props = { rules: Policy[]; may: boolean; onAct: (act: Act, rule: Policy) => void };
type Moved = { id: string; from: number; to: number; text: string };

/** The policies of one level, moved by dragging, with the arrows, or with Alt and an arrow key; said aloud each time. */
export function Rules({ rules, may, onAct }: Props) {
  const { rule: named } = useSearch({ from: "/shell/policies" });
  const [moved, setMoved] = useState<Moved | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const move = useMoving(setMoved);
  const go = (rule: Policy, to: number) => {
    const from = rules.indexOf(rule);
    if (!rule.id || to < 0 || to >= rules.length || to === from) return;
    move.mutate({ id: rule.id, from, to, text: rule.pattern });
  };
  const drop = (to: number) => {
    const rule = rules.find((one) => one.id === dragged);
    setDragged(null);
    setOver(null);
    if (rule) go(rule, to);
  };
  return (
    <>
      <ol className="-my-2 divide-y divide-line">
        {rules.map((rule, index) => (
          <RuleRow
            key={rule.id}
            {...{ rule, may }}
            number={index + 1}
            count={rules.length}
            above={rules.find((one) => one.id === rule.shadowedBy)}
            named={rule.id === named}
            over={over === rule.id && dragged !== rule.id}
            onMove={(step) => go(rule, index + step)}
            onDrag={() => setDragged(rule.id)}
            onOver={() => dragged && setOver(rule.id)}
            onDrop={() => drop(index)}
            onAct={(act) => onAct(act, rule)}
          />
        ))}
      </ol>
      <Said
        moved={moved}
        count={rules.length}
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
