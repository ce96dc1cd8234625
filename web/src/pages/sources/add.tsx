import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { get, post } from "@/api/client";
import type { Probe, Template } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextArea, TextField } from "@/ui/field";
import { Page, Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Review } from "./review";

export type Wish = {
  location?: string;
  document?: string;
  command?: string[];
  consent?: boolean;
  kind?: string;
  options?: object;
};

export function AddSourcePage() {
  const given = useSearch({ from: "/shell/sources/add" });
  const [wish, setWish] = useState<Wish | null>(null);
  const probe = useMutation({ mutationFn: (wanted: Wish) => post<Probe>("/v1/sources/probe", wanted) });
  const look = (wanted: Wish) => {
    setWish(wanted);
    probe.mutate(wanted);
  };
  return (
    <Page
      title="Add a source"
      about="Paste an address. What is there is found out and shown; nothing is connected before you say so."
    >
      <Section title="1. Where is it?">
        <Where start={given.location ?? ""} busy={probe.isPending} onLook={look} />
      </Section>
      {probe.error ? <Failed error={probe.error} wish={wish} /> : null}
      {probe.data && wish && <Review key={JSON.stringify(wish)} probe={probe.data} wish={wish} />}
      {!probe.data && <Templates onChoose={(template) => look({ location: template.id })} />}
    </Page>
  );
}

function Where({ start, busy, onLook }: { start: string; busy: boolean; onLook: (wish: Wish) => void }) {
  const [how, setHow] = useState("address");
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("value") ?? "").trim();
    if (!text) return;
    if (how === "address") onLook({ location: text });
    if (how === "document") onLook({ document: text });
    if (how === "command") onLook({ command: words(text), kind: "mcp" });
  };
  const go = (
    <Button type="submit" look="primary" busy={busy}>
      {busy ? "Looking…" : "Look"}
    </Button>
  );
  const form = (field: React.ReactNode) => (
    <form onSubmit={submit} className="space-y-3">
      {field}
      {go}
    </form>
  );
  const address = (
    <TextField
      name="value"
      label="Address"
      defaultValue={start}
      placeholder="https://api.example.com/openapi.json"
      spellCheck={false}
      autoComplete="off"
      hint="An OpenAPI document, a GraphQL endpoint, an MCP server, or a page that leads to one."
    />
  );
  const document = (
    <TextArea
      name="value"
      label="Document"
      rows={8}
      spellCheck={false}
      className="font-mono text-xs"
      placeholder="openapi: 3.1.0 …"
    />
  );
  const command = (
    <TextField
      name="value"
      label="Command of an MCP server"
      placeholder="npx -y @example/mcp-server"
      spellCheck={false}
      autoComplete="off"
      hint="It runs on this machine, with your rights. You are shown exactly what will run."
    />
  );
  const tabs = [
    { id: "address", title: "Address", content: form(address) },
    { id: "document", title: "Document", content: form(document) },
    { id: "command", title: "Command", content: form(command) },
  ];
  return <Tabs label="Kinds of places" tabs={tabs} value={how} onChange={setHow} />;
}

/** Words as a shell would part them, without anything else that a shell does. */
function words(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3] ?? "");
}

function Failed({ error, wish }: { error: unknown; wish: Wish | null }) {
  return (
    <div className="mb-4 space-y-2">
      <Trouble error={error} />
      {wish?.location && (
        <p className="text-dim text-sm">
          Asked: <code className="break-all font-mono text-xs">GET {visible(wish.location)}</code>. Is it the document
          itself, and can this machine reach it?
        </p>
      )}
    </div>
  );
}

function Templates({ onChoose }: { onChoose: (template: Template) => void }) {
  const found = useQuery({ queryKey: ["templates"], queryFn: () => get<{ items: Template[] }>("/v1/templates") }).data
    ?.items;
  if (!found?.length) return null;
  return (
    <Section title="Or one of these">
      <ul className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
        {found.map((template) => (
          <li key={template.id} className="min-w-0">
            <button
              type="button"
              onClick={() => onChoose(template)}
              className="h-full w-full rounded-lg border border-line px-3 py-2 text-left hover:bg-raised"
            >
              <span className="block font-medium text-sm">{visible(template.name)}</span>
              <span className="block truncate text-dim text-xs">
                {template.kind}
                {template.auth ? ` · ${visible(template.auth)}` : ""}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
