import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { patch, post } from "@/api/client";
import type { Toolkit } from "@/api/types";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextArea, TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { commandOf, type Draft, draftOf, linesOf, policiesOf } from "./draft";

type Props = { toolkit?: Toolkit; onDone: (saved: Toolkit) => void };

/** Policies with conditions, an effect or a note are kept as they are: there is a field only for plain ones. */
export function ToolkitForm({ toolkit, onDone }: Props) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(toolkit));
  const save = useSaving(toolkit, draft, onDone);
  const field = (name: keyof Draft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [name]: event.target.value }),
    spellCheck: false,
    autoComplete: "off",
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Slug"
          {...field("slug")}
          required
          maxLength={50}
          pattern="[a-z][a-z0-9]*(-[a-z0-9]+)*"
          placeholder="support-desk"
          hint="Part of its address: lower-case letters, digits, hyphens"
          className="font-mono"
        />
        <TextField label="Name" {...field("name")} maxLength={100} hint="For people. Default: the slug" />
      </div>
      <TextField label="Description" {...field("description")} maxLength={1000} />
      <TextArea
        label="Tools"
        {...field("patterns")}
        required
        rows={3}
        placeholder="github.issues.*"
        hint="One pattern on each line. * is one part of a path, ** everything below"
        className="font-mono"
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextArea
          label="Except"
          {...field("deny")}
          rows={2}
          placeholder="github.*.delete"
          hint="Patterns of tools that are left out"
          className="font-mono"
        />
        <TextArea
          label="Ask before"
          {...field("ask")}
          rows={2}
          placeholder="slack.**"
          hint="Patterns of tools whose calls always need approval"
          className="font-mono"
        />
      </div>
      <TextArea
        label="Pass through"
        {...field("passThrough")}
        rows={2}
        placeholder="github.issues.get"
        hint="Patterns of tools that MCP clients also see as tools of their own, beside execute; at most 100 tools"
        className="font-mono"
      />
      {save.error ? <Trouble error={save.error} /> : null}
      <Button type="submit" look="primary" busy={save.isPending}>
        {toolkit ? "Save" : "Create the toolkit"}
      </Button>
      {!toolkit && <Command text={commandOf(draft)} />}
    </form>
  );
}

function useSaving(toolkit: Toolkit | undefined, draft: Draft, onDone: (saved: Toolkit) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => {
      const { slug, name, description } = draft;
      const body = {
        ...{ slug, name, description },
        patterns: linesOf(draft.patterns),
        passThrough: linesOf(draft.passThrough),
        policies: policiesOf(draft, toolkit),
      };
      if (!toolkit) return post("/v1/toolkits", body);
      return patch(`/v1/toolkits/${encodeURIComponent(toolkit.id)}`, { ...body, revision: toolkit.revision });
    },
    onSuccess: (saved) => {
      void client.invalidateQueries({ queryKey: ["toolkits"] });
      tell(toolkit ? "Toolkit saved" : "Toolkit created");
      onDone(saved);
    },
  });
}
