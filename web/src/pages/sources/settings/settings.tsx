import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Problem, patch } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { path } from "../queries";
import { type Draft, draftOf, editOf, isEmpty, optionsOf } from "./draft";
import { ConnectionFields, RefreshInterval, ReviewMode } from "./fields";
import { Ends, Outcome } from "./outcome";

type Act = "try" | "save" | "agree";

/** Where the source is and how it is reached. What ends with a change is shown before it is made. */
export function ConnectionSettings({ source }: { source: Source }) {
  const operates = useQuery(whoami).data?.permissions.includes("operate") ?? false;
  const locked = source.hosted
    ? "The daemon itself runs this source."
    : (source.command || source.kind === "python") && !operates
      ? "It runs on the machine of this installation: only its operator can change how."
      : "";
  return (
    <Section title="Connection" about="The source is read with new settings first. If that fails, nothing changes">
      <Form source={source} locked={locked} />
    </Section>
  );
}

function Form({ source, locked }: { source: Source; locked: string }) {
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>(() => draftOf(source));
  const edit = editOf(source, draft);
  const save = useMutation({
    mutationFn: (act: Act) =>
      patch(path(source.id), {
        ...edit,
        preview: act === "try",
        consent: act === "agree" || (act === "try" && Boolean(source.command)),
        revision: source.revision,
      }),
    onSuccess: (_, act) => {
      if (act === "try") return;
      for (const key of ["sources", "tools", "connections", "decision"]) client.invalidateQueries({ queryKey: [key] });
      tell("Saved the settings");
    },
  });
  const change = (made: Partial<Draft>) => {
    save.reset();
    setDraft({ ...draft, ...made });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate("save");
  };
  const ends = endsOf(save.error);
  const busy = (act: Act) => save.isPending && save.variables === act;
  return (
    <form onSubmit={submit} className="max-w-2xl space-y-3">
      {locked ? (
        <p className="text-dim text-sm">{locked}</p>
      ) : (
        <ConnectionFields source={source} draft={draft} onChange={change} />
      )}
      <RefreshInterval draft={draft} onChange={change} />
      {source.kind === "mcp" && <ReviewMode draft={draft} onChange={change} />}
      <div className="flex flex-wrap gap-2">
        <Button disabled={isEmpty(edit)} busy={busy("try")} onClick={() => save.mutate("try")}>
          Preview the settings
        </Button>
        <Button type="submit" look="primary" disabled={isEmpty(edit)} busy={busy("save")}>
          Save the settings
        </Button>
      </div>
      {ends && <Ends lines={ends} busy={busy("agree")} onAgree={() => save.mutate("agree")} />}
      {save.error && !ends ? <Trouble error={save.error} /> : null}
      {save.data && save.variables === "try" && <Outcome told={save.data} />}
      {!isEmpty(edit) && <Command text={command("sources", "edit", source.namespace, ...optionsOf(edit))} />}
    </form>
  );
}

/** What people must agree to first: what ends, or the command that would run. */
function endsOf(error: unknown): string[] | null {
  if (!(error instanceof Problem) || error.code !== "consent_required") return null;
  const { invalidates, command: words } = error.details;
  if (Array.isArray(invalidates)) return invalidates.map(String);
  return Array.isArray(words) ? [`this runs on this machine: ${visible(words.join(" "))}`] : null;
}
