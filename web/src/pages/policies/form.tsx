import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useDeferredValue, useState } from "react";
import { patch, post } from "@/api/client";
import type { Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Changes } from "./changes";
import { addCommand, changeCommand, type Draft, draftOf } from "./command";
import { Conditions } from "./conditions";
import { About, Place, Then } from "./fields";
import { simulation } from "./queries";

const EMPTY: Draft = {
  pattern: "",
  action: "require_approval",
  conditions: [],
  actor: "",
  source: "",
  effect: null,
  note: "",
  level: "workspace",
};

type Props = { policy?: Policy; items: Policy[]; mayManage: boolean; onDone: () => void };

/** Everything that a policy can ask about; the same as the command line can write. */
export function PolicyForm({ policy, items, mayManage, onDone }: Props) {
  const [draft, setDraft] = useState<Draft>(() => (policy ? draftOf(policy) : EMPTY));
  const level = items.filter((one) => one.level === draft.level);
  const [chosen, setPosition] = useState<number>();
  const position = chosen === undefined || chosen >= level.length ? undefined : chosen;
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const save = useSaving(policy, draft, position, onDone);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField
        label="Tools"
        value={draft.pattern}
        onChange={(event) => set({ pattern: event.target.value })}
        placeholder="github.issues.*"
        hint="A path. * matches one part; at the end, everything below"
        required
        spellCheck={false}
        autoComplete="off"
        className="font-mono"
      />
      <Then draft={draft} onSet={set} />
      <About draft={draft} onSet={set} />
      <Conditions drafts={draft.conditions} onChange={(conditions) => set({ conditions })} />
      <TextField
        label="Note (optional)"
        maxLength={1000}
        value={draft.note}
        onChange={(event) => set({ note: event.target.value })}
      />
      {!policy && <Place {...{ draft, level, position, mayManage }} onSet={set} onPlace={setPosition} />}
      <Reach draft={draft} policy={policy} position={position} />
      {save.error ? <Trouble error={save.error} /> : null}
      <Button type="submit" look="primary" busy={save.isPending}>
        {policy ? "Save" : "Add the policy"}
      </Button>
      {draft.pattern && <Command text={policy?.id ? changeCommand(policy.id, draft) : addCommand(draft, position)} />}
    </form>
  );
}

function useSaving(policy: Policy | undefined, draft: Draft, position: number | undefined, onDone: () => void) {
  const client = useQueryClient();
  const { level: _, ...changes } = draft;
  return useMutation({
    mutationFn: () =>
      policy?.id
        ? patch(`/v1/policies/${encodeURIComponent(policy.id)}`, changes)
        : post("/v1/policies", { ...draft, ...(position === undefined ? {} : { position }) }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["policies"] });
      onDone();
    },
  });
}

type ReachProps = { draft: Draft; policy?: Policy; position: number | undefined };

/** How many tools it is about now, and which calls of the past it would have decided otherwise. */
function Reach({ draft, policy, position }: ReachProps) {
  const asked = useDeferredValue(draft);
  const enabled = asked.pattern.length > 0;
  const matches = useQuery({
    queryKey: ["matches", asked],
    queryFn: () => post("/v1/policies/matches", asked),
    enabled,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const changed = policy?.id
    ? { rule: asked, position: policy.position, without: [policy.id] }
    : { rule: asked, position };
  const past = useQuery(simulation(changed, enabled));
  if (!enabled || !matches.data)
    return <p className="text-dim text-xs">Enter a pattern to see how many tools it matches.</p>;
  const { count, tools } = matches.data;
  return (
    <div className="space-y-2">
      <p role="status" className="text-dim text-xs">
        Matches <b>{count.toLocaleString("en")}</b> {count === 1 ? "tool" : "tools"}
        {count > 0 &&
          `: ${tools
            .slice(0, 4)
            .map((path) => visible(path))
            .join(", ")}${count > 4 ? " …" : ""}`}
      </p>
      <Changes asked={past} />
    </div>
  );
}
