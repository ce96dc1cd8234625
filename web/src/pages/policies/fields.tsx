import { useQuery } from "@tanstack/react-query";
import { sources } from "@/api/queries";
import type { Action, Effect, Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { Choice, TextField } from "@/ui/field";
import type { Draft } from "./command";
import { agents } from "./queries";

type Props = { draft: Draft; onSet: (change: Partial<Draft>) => void };

export function Then({ draft, onSet }: Props) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Choice label="Then" value={draft.action} onChange={(event) => onSet({ action: event.target.value as Action })}>
        <option value="allow">Allow</option>
        <option value="require_approval">Require approval</option>
        <option value="deny">Deny</option>
      </Choice>
      <Choice
        label="Only for"
        value={draft.effect ?? ""}
        onChange={(event) => onSet({ effect: (event.target.value || null) as Effect | null })}
      >
        <option value="">All effects</option>
        <option value="read">Reads</option>
        <option value="write">Writes</option>
        <option value="destructive">Destructive calls</option>
      </Choice>
    </div>
  );
}

/** Whose calls, and of which source. An actor is named freely: people run code too. */
export function About({ draft, onSet }: Props) {
  const known = useQuery(sources).data?.items ?? [];
  const named = useQuery(agents).data?.items ?? [];
  const gone = draft.source && !known.some((one) => one.namespace === draft.source);
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextField
        label="Only calls of (optional)"
        value={draft.actor}
        onChange={(event) => onSet({ actor: event.target.value })}
        placeholder="anybody"
        hint="An agent or a person, by name or ID"
        list="actors"
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id="actors">
        {named.map((one) => (
          <option key={one.id} value={one.name} />
        ))}
      </datalist>
      <Choice label="Only tools of" value={draft.source} onChange={(event) => onSet({ source: event.target.value })}>
        <option value="">All sources</option>
        {gone && <option value={draft.source}>{visible(draft.source)}</option>}
        {known.map((one) => (
          <option key={one.id} value={one.namespace}>
            {visible(one.namespace)}
          </option>
        ))}
      </Choice>
    </div>
  );
}

type PlaceProps = Props & {
  level: Policy[];
  position: number | undefined;
  mayManage: boolean;
  onPlace: (position: number | undefined) => void;
};

/** Its level, and its place among the others. */
export function Place({ draft, onSet, level, position, mayManage, onPlace }: PlaceProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Choice
        label="Level"
        value={draft.level}
        onChange={(event) => onSet({ level: event.target.value as Draft["level"] })}
      >
        <option value="workspace">Workspace</option>
        {mayManage && <option value="organization">Organization: applies in all its workspaces</option>}
      </Choice>
      <Choice
        label="Position"
        value={position ?? ""}
        onChange={(event) => onPlace(event.target.value === "" ? undefined : Number(event.target.value))}
      >
        <option value="">Last</option>
        {level.map((one, index) => (
          <option key={one.id} value={index}>
            Before {index + 1}: {visible(one.text).slice(0, 60)}
          </option>
        ))}
      </Choice>
    </div>
  );
}
