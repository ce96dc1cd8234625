import { type FormEvent, type ReactNode, useState } from "react";
import { Button } from "@/ui/button";
import { TextArea, TextField } from "@/ui/field";
import { Tabs } from "@/ui/tabs";
import type { Wish } from "./add";

type Props = { start: string; busy: boolean; onLook: (wish: Wish) => void };

const LARGEST = 60 * 1024 * 1024;

export function Where({ start, busy, onLook }: Props) {
  const [how, setHow] = useState("address");
  const [wrong, setWrong] = useState("");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setWrong("");
    const entered = new FormData(event.currentTarget);
    const text = String(entered.get("value") ?? "").trim();
    const file = entered.get("file");
    if (how === "document" && file instanceof File && file.size > 0) {
      if (file.size > LARGEST) setWrong("This file is larger than 60 MB. Split it, or remove unused parts.");
      else onLook({ document: await file.text() });
      return;
    }
    if (!text) setWrong(how === "document" ? "Choose a file or paste its text" : "This is required");
    else if (how === "address") onLook({ location: text });
    else if (how === "document") onLook({ document: text });
    else onLook({ command: words(text), kind: "mcp" });
  };
  const form = (field: ReactNode) => (
    <form onSubmit={submit} className="space-y-3">
      {field}
      <Button type="submit" look="primary" busy={busy}>
        {busy ? "Detecting…" : "Look it up"}
      </Button>
    </form>
  );
  const shared = { name: "value", error: wrong, spellCheck: false, autoComplete: "off" };
  const tabs = [
    {
      id: "address",
      title: "Address",
      content: form(
        <TextField
          {...shared}
          label="Address"
          defaultValue={start}
          placeholder="https://api.example.com/openapi.json"
          hint="An OpenAPI document, a GraphQL endpoint, an MCP server, or a page that leads to one."
        />,
      ),
    },
    { id: "document", title: "Document", content: form(<Document {...shared} />) },
    {
      id: "command",
      title: "Command",
      content: form(
        <TextField
          {...shared}
          label="Command of an MCP server"
          placeholder="npx -y @example/mcp-server"
          hint="It runs on this machine with your permissions. You see the exact command before it runs."
        />,
      ),
    },
  ];
  const turn = (id: string) => {
    setHow(id);
    setWrong("");
  };
  return <Tabs label="Where the source is" tabs={tabs} value={how} onChange={turn} />;
}

function Document(shared: { name: string; error: string; spellCheck: boolean }) {
  return (
    <>
      <TextField
        name="file"
        type="file"
        label="File"
        accept=".json,.yaml,.yml,.graphql,.graphqls,.gql,.sdl,.txt"
        className="py-1.5"
        hint="An OpenAPI document or a GraphQL schema. It can't be refreshed: add it again when it changes."
      />
      <TextArea {...shared} label="Or its text" rows={8} className="font-mono text-xs" placeholder="openapi: 3.1.0 …" />
    </>
  );
}

/** Words as a shell would part them, without anything else that a shell does. */
export function words(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3] ?? "");
}
