import { type ReactNode, useState } from "react";
import type { Client, ClientPage } from "@/api/types";
import { Command } from "./copy";
import { Tabs } from "./tabs";

type Props = { items: Client[]; children?: (client: Client) => ReactNode };

/** With a token in the place that is kept for it. */
export function withToken(page: ClientPage, token: string): Client[] {
  return page.items.map((one) => ({ ...one, http: one.http?.replace(page.tokenPlaceholder, token) ?? null }));
}

/** What each MCP client needs, ready to paste. */
export function Snippets({ items, children }: Props) {
  const [chosen, setChosen] = useState(items[0]?.id ?? "");
  const tabs = items.map((client) => ({
    id: client.id,
    title: client.name,
    content: (
      <div className="space-y-3">
        <Ways client={client} />
        {children?.(client)}
      </div>
    ),
  }));
  return <Tabs label="Clients" tabs={tabs} value={chosen} onChange={setChosen} />;
}

function Ways({ client }: { client: Client }) {
  const http = client.http;
  return (
    <>
      <p className="text-dim text-xs">{client.place}</p>
      {client.install && client.stdio && (
        <a href={client.install} className="text-accent text-sm underline">
          Install in {client.name}
        </a>
      )}
      {client.stdio && <Command text={client.stdio} label={`Copy for ${client.name}`} />}
      {http && client.stdio ? (
        <details className="text-sm">
          <summary className="text-dim text-xs">Over HTTP</summary>
          <div className="mt-2">
            <Command text={http} label={`Copy for ${client.name} over HTTP`} />
          </div>
        </details>
      ) : (
        http && <Command text={http} label={`Copy for ${client.name} over HTTP`} />
      )}
    </>
  );
}
