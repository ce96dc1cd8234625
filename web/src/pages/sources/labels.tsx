import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { patch, post } from "@/api/client";
import type { Tool } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextArea, TextField, Tick } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";

const at = (path: string) => `/v1/tools/${encodeURIComponent(path)}` as const;

/** What people make of a tool: another path, a description of their own, that it only reads. */
export function Labels({ tool }: { tool: Tool }) {
  const client = useQueryClient();
  const navigate = useNavigate({ from: "/sources/$id" });
  const [inherit, setInherit] = useState(false);
  const save = useMutation({
    mutationFn: (change: { path?: string; description?: string }) =>
      patch(at(tool.path), { ...change, inheritRules: inherit }),
    onSuccess: (told) => {
      const now = told.renamed.find((one) => one.was === tool.path)?.path;
      if (now) void navigate({ search: (before) => ({ ...before, tool: now }), replace: true });
      client.invalidateQueries({ queryKey: ["tools"] });
      client.invalidateQueries({ queryKey: ["sources"] });
      const ended = told.rules.length ? ` ${told.rules.length} policies no longer allow it` : "";
      tell(now ? `Renamed to ${now}.${ended}` : "Saved");
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const path = String(form.get("path") ?? "").trim();
    const description = String(form.get("description") ?? "").trim();
    save.mutate({
      ...(path !== tool.path ? { path } : {}),
      ...(description !== tool.description.trim() ? { description } : {}),
    });
  };
  const own = tool.ownPath ? <>The source calls it {visible(tool.ownPath)}. Leave empty to restore it.</> : undefined;
  const said = tool.describedBy ? "Your description. Leave empty to restore the source's." : "From the source";
  return (
    <form key={tool.path + tool.description} onSubmit={submit} className="max-w-2xl space-y-3">
      <TextField label="Path" name="path" defaultValue={tool.path} className="font-mono text-xs" hint={own} />
      <TextArea label="Description" name="description" defaultValue={tool.description} rows={4} hint={said} />
      <Tick
        checked={inherit}
        onChange={() => setInherit(!inherit)}
        label="Apply policies that allow calls under the new path"
      />
      {save.error ? <Trouble error={save.error} /> : null}
      <Button type="submit" look="primary" busy={save.isPending}>
        Save
      </Button>
    </form>
  );
}

/** One click makes the policy: it holds where no other policy decides, and for the tool as it is now. */
export function TreatAsRead({ tool }: { tool: Tool }) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: () => post(`${at(tool.path)}/treat-as-read`),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["decision"] });
      client.invalidateQueries({ queryKey: ["policies"] });
      tell("Now allowed like a read");
    },
  });
  return (
    <div className="mb-4 space-y-2">
      <p className="text-dim text-sm">
        If you are sure that this tool only reads, you can allow it like a read. This creates a policy for the tool in
        its current form; all other policies come first.
      </p>
      <Button busy={make.isPending} onClick={() => make.mutate()}>
        Treat as read
      </Button>
      {make.error ? <Trouble error={make.error} /> : null}
    </div>
  );
}
