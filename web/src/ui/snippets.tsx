import { type ReactNode, useState } from "react";
import type { Client, ClientPage } from "@/api/types";
import { Command } from "./copy";
import { Tabs } from "./tabs";

type Props = { page: ClientPage; token?: string; children?: (client: Client) => ReactNode };

/** What each MCP client needs, ready to paste; `token` takes the place that is kept for it. */
export function Snippets({ page, token, children }: Props) {
  const [chosen, setChosen] = useState("claude");
  const tabs = page.items.map((client) => ({
    id: client.id,
    title: client.name,
    content: (
      <div className="space-y-3">
        <Ways client={client} http={client.http?.replace(page.tokenPlaceholder, token ?? page.tokenPlaceholder)} />
        {children?.(client)}
      </div>
    ),
  }));
  return <Tabs label="Clients" tabs={tabs} value={chosen} onChange={setChosen} />;
}

function Ways({ client, http }: { client: Client; http: string | undefined }) {
  return (
    <>
      <p className="text-dim text-xs">{client.place}</p>
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
