import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { get, put } from "@/api/client";
import { write } from "@/api/json";
import type { components } from "@/api/schema";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice } from "@/ui/field";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { path } from "./queries";

type Defaults = components["schemas"]["ApprovalDefaultsView"];
type Action = NonNullable<Defaults["read"]>;

const EFFECTS = [
  ["read", "Reads", "Allow"],
  ["write", "Writes", "Require approval"],
  ["destructive", "Destructive calls", "Require approval"],
] as const;

/** What happens to calls of a source that no policy decides about. */
export function ApprovalDefaults({ source }: { source: Source }) {
  const asked = useQuery({
    queryKey: ["sources", source.id, "defaults"],
    queryFn: ({ signal }) => get(path(source.id, "/defaults"), signal),
  });
  return (
    <Section
      title="Approval defaults"
      about="For calls that no policy of the organization or workspace decides about. Pending approvals are requested again"
    >
      {asked.error ? (
        <Trouble error={asked.error} />
      ) : (
        <Chosen key={write(asked.data)} source={source} defaults={asked.data} />
      )}
    </Section>
  );
}

/** As tall before the defaults are known as after: nothing below moves. Until then nothing can be chosen that they would replace. */
function Chosen({ source, defaults }: { source: Source; defaults?: Defaults }) {
  const client = useQueryClient();
  const [wanted, setWanted] = useState({
    read: defaults?.read,
    write: defaults?.write,
    destructive: defaults?.destructive,
  });
  const save = useMutation({
    mutationFn: () => put(path(source.id, "/defaults"), wanted),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["sources", source.id, "defaults"] });
      client.invalidateQueries({ queryKey: ["decision"] });
      tell("Saved the approval defaults");
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const options = EFFECTS.flatMap(([effect]) => [`--${effect}`, wanted[effect] ?? "unset"]);
  return (
    <form onSubmit={submit} className="max-w-2xl space-y-3">
      <div className="grid gap-3 sm:grid-cols-3">
        {EFFECTS.map(([effect, label, otherwise]) => (
          <Choice
            key={effect}
            label={label}
            value={wanted[effect] ?? ""}
            disabled={!defaults}
            onChange={(event) => setWanted({ ...wanted, [effect]: (event.target.value || null) as Action | null })}
          >
            <option value="">{`Not set (${otherwise.toLowerCase()})`}</option>
            <option value="allow">Allow</option>
            <option value="require_approval">Require approval</option>
            <option value="deny">Deny</option>
          </Choice>
        ))}
      </div>
      <Button type="submit" look="primary" busy={save.isPending} disabled={!defaults}>
        Save the defaults
      </Button>
      {save.error ? <Trouble error={save.error} /> : null}
      <Command text={command("sources", "defaults", source.namespace, ...options)} />
    </form>
  );
}
