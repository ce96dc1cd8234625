import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useDeferredValue, useState } from "react";
import { post, put } from "@/api/client";
import type { Action, Effect, Matches, Policy, Simulation } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { ActionBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice, TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Conditions, type Draft } from "./conditions";

type Rule = {
  pattern: string;
  action: Action;
  effect: Effect | null;
  note: string;
  conditions: Draft[];
  actor: string;
  source: string;
};

export function RuleForm({ rule, onDone }: { rule?: Policy; onDone: () => void }) {
  const [draft, setDraft] = useState<Rule>({
    pattern: rule?.pattern ?? "",
    action: rule?.action ?? "require_approval",
    effect: rule?.effect ?? null,
    note: rule?.note ?? "",
    conditions: (rule?.conditions as Draft[] | undefined) ?? [],
    actor: rule?.actorId ?? "",
    source: rule?.sourceId ?? "",
  });
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () =>
      rule?.id ? put(`/v1/policies/${encodeURIComponent(rule.id)}`, draft) : post("/v1/policies", draft),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["policies"] });
      onDone();
    },
  });
  const set = (change: Partial<Rule>) => setDraft({ ...draft, ...change });
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
        hint="A path; * stands for one part, ** for any number of them"
        required
        spellCheck={false}
        className="font-mono"
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <Choice label="Then" value={draft.action} onChange={(event) => set({ action: event.target.value as Action })}>
          <option value="allow">Allow</option>
          <option value="require_approval">Ask a human</option>
          <option value="deny">Deny</option>
        </Choice>
        <Choice
          label="Only for"
          value={draft.effect ?? ""}
          onChange={(event) => set({ effect: (event.target.value || null) as Effect | null })}
        >
          <option value="">Every effect</option>
          <option value="read">Reads</option>
          <option value="write">Writes</option>
          <option value="destructive">Destructive calls</option>
        </Choice>
      </div>
      <Conditions drafts={draft.conditions} onChange={(conditions) => set({ conditions })} />
      <TextField label="Note (optional)" value={draft.note} onChange={(event) => set({ note: event.target.value })} />
      <Reach draft={draft} isNew={!rule} />
      {save.error ? <Trouble error={save.error} /> : null}
      <Button type="submit" look="primary" busy={save.isPending}>
        {rule ? "Save" : "Add the rule"}
      </Button>
      {!rule && draft.pattern && <Command text={command("policies", "add", draft.pattern, draft.action)} />}
    </form>
  );
}

/** How many tools it is about now, and which calls of the past it would have decided otherwise. */
function Reach({ draft, isNew }: { draft: Rule; isNew: boolean }) {
  const asked = useDeferredValue(draft);
  const matches = useQuery({
    queryKey: ["matches", asked],
    queryFn: () => post<Matches>("/v1/policies/matches", asked),
    enabled: asked.pattern.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const past = useQuery({
    queryKey: ["matches", "past", asked],
    queryFn: () => post<Simulation>("/v1/policies/simulate", { rule: asked, position: 0 }),
    enabled: isNew && asked.pattern.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (!asked.pattern || !matches.data) return <p className="h-5 text-dim text-xs" />;
  const { count, tools } = matches.data;
  return (
    <div role="status" className="text-dim text-xs">
      <p>
        Matches <b>{count.toLocaleString("en")}</b> {count === 1 ? "tool" : "tools"}
        {count > 0 &&
          `: ${tools
            .slice(0, 4)
            .map((path) => visible(path))
            .join(", ")}${count > 4 ? " …" : ""}`}
      </p>
      {past.data && past.data.changed.length > 0 && (
        <ul className="mt-2 space-y-1">
          {past.data.changed.slice(0, 5).map((one) => (
            <li key={`${one.executionId} ${one.seq}`} className="flex items-center gap-1.5">
              <code className="truncate font-mono">{visible(one.path)}</code> <ActionBadge action={one.before.action} />{" "}
              → <ActionBadge action={one.after.action} />
            </li>
          ))}
        </ul>
      )}
      {past.data && (
        <p className="mt-1">
          As the first rule it would have changed {past.data.changed.length} of the last {past.data.judged} calls.
        </p>
      )}
    </div>
  );
}
