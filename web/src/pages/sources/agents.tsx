import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { write } from "@/api/json";
import { Command } from "@/ui/copy";
import { Section } from "@/ui/page";
import { Tabs } from "@/ui/tabs";

type Client = { id: string; name: string; where: string; text: string; http?: string };

const STDIO = { command: "executor", args: ["mcp"] };
const TOKEN = "YOUR_AGENT_TOKEN";
const json = (value: unknown) => write(value, 2);

function clients(address: string): Client[] {
  const remote = { url: address, headers: { Authorization: `Bearer ${TOKEN}` } };
  return [
    {
      id: "claude",
      name: "Claude Code",
      where: "In a terminal",
      text: "claude mcp add executor -- executor mcp",
      http: `claude mcp add --transport http executor ${address} --header "Authorization: Bearer ${TOKEN}"`,
    },
    {
      id: "codex",
      name: "Codex",
      where: "In ~/.codex/config.toml",
      text: '[mcp_servers.executor]\ncommand = "executor"\nargs = ["mcp"]\ntool_timeout_sec = 120',
      http: `[mcp_servers.executor]\nurl = "${address}"\nbearer_token_env_var = "EXECUTOR_AGENT_TOKEN"\ntool_timeout_sec = 120`,
    },
    {
      id: "cursor",
      name: "Cursor",
      where: "In ~/.cursor/mcp.json",
      text: json({ mcpServers: { executor: STDIO } }),
      http: json({ mcpServers: { executor: remote } }),
    },
    {
      id: "vscode",
      name: "VS Code",
      where: "In .vscode/mcp.json",
      text: json({ servers: { executor: { type: "stdio", ...STDIO } } }),
      http: json({ servers: { executor: { type: "http", ...remote } } }),
    },
    {
      id: "gemini",
      name: "Gemini CLI",
      where: "In ~/.gemini/settings.json",
      text: json({ mcpServers: { executor: { ...STDIO, timeout: 120000 } } }),
      http: json({ mcpServers: { executor: { httpUrl: address, headers: remote.headers, timeout: 120000 } } }),
    },
  ];
}

export function Agents() {
  const [client, setClient] = useState("claude");
  const address = `${window.location.origin}/mcp`;
  const tabs = clients(address).map((one) => ({ id: one.id, title: one.name, content: <Ways client={one} /> }));
  const other = { id: "http", title: "HTTP", content: <Http address={address} /> };
  return (
    <Section
      title="Connect your agent"
      about="It sees two tools and pays less than 500 tokens, however much is connected."
    >
      <Tabs label="Clients" tabs={[...tabs, other]} value={client} onChange={setClient} />
    </Section>
  );
}

function Ways({ client }: { client: Client }) {
  return (
    <div className="space-y-3">
      <Way about={client.where}>
        <Command text={client.text} label={`Copy for ${client.name}`} />
      </Way>
      {client.http && (
        <details className="text-sm">
          <summary className="text-dim text-xs">From another machine, or over HTTP</summary>
          <div className="mt-2 space-y-2">
            <Command text={client.http} label={`Copy for ${client.name} over HTTP`} />
            <Token />
          </div>
        </details>
      )}
    </div>
  );
}

function Http({ address }: { address: string }) {
  return (
    <div className="space-y-3">
      <Way about="Any client that speaks MCP over HTTP">
        <Command text={address} label="Copy the address" />
      </Way>
      <Way about="With the agent's token as bearer">
        <Command text={`Authorization: Bearer ${TOKEN}`} label="Copy the header" />
      </Way>
      <Token />
    </div>
  );
}

function Token() {
  return (
    <p className="text-dim text-xs">
      Each agent gets a token and a name of its own, so that you see who did what.{" "}
      <Link to="/settings" search={{ tab: "keys" }} className="text-accent underline">
        Make a token
      </Link>{" "}
      or run <code className="font-mono">executor agents create NAME</code>. No token of an agent can approve anything.
    </p>
  );
}

function Way({ about, children }: { about: string; children: ReactNode }) {
  return (
    <div>
      <p className="mb-1.5 text-dim text-xs">{about}</p>
      {children}
    </div>
  );
}
