import { useState } from "react";
import { Command } from "@/ui/copy";
import { Section } from "@/ui/page";
import { Tabs } from "@/ui/tabs";

type Client = { id: string; name: string; where: string; text: string };

const STDIO = { command: "executor", args: ["mcp"] };
const json = (value: unknown) => JSON.stringify(value, null, 2);

const CLIENTS: Client[] = [
  { id: "claude", name: "Claude Code", where: "In a terminal", text: "claude mcp add executor -- executor mcp" },
  {
    id: "codex",
    name: "Codex",
    where: "In ~/.codex/config.toml",
    text: '[mcp_servers.executor]\ncommand = "executor"\nargs = ["mcp"]\ntool_timeout_sec = 120',
  },
  { id: "cursor", name: "Cursor", where: "In ~/.cursor/mcp.json", text: json({ mcpServers: { executor: STDIO } }) },
  {
    id: "vscode",
    name: "VS Code",
    where: "In .vscode/mcp.json",
    text: json({ servers: { executor: { type: "stdio", ...STDIO } } }),
  },
  {
    id: "gemini",
    name: "Gemini CLI",
    where: "In ~/.gemini/settings.json",
    text: json({ mcpServers: { executor: { ...STDIO, timeout: 120000 } } }),
  },
];

function http(): Client {
  return {
    id: "http",
    name: "HTTP",
    where: "Any client that speaks MCP over HTTP, with the agent's token as bearer",
    text: `${window.location.origin}/mcp`,
  };
}

export function Agents() {
  const [client, setClient] = useState("claude");
  const tabs = [...CLIENTS, http()].map((one) => ({
    id: one.id,
    title: one.name,
    content: (
      <div>
        <p className="mb-1.5 text-dim text-xs">{one.where}</p>
        <Command text={one.text} label={`Copy for ${one.name}`} />
      </div>
    ),
  }));
  return (
    <Section
      title="Connect your agent"
      about="It sees two tools and pays less than 500 tokens, however much is connected."
    >
      <Tabs label="Clients" tabs={tabs} value={client} onChange={setClient} />
    </Section>
  );
}
