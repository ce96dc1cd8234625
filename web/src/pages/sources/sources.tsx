import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { connections, sources } from "@/api/queries";
import type { Connection, Source } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { Agents } from "./agents";
import { authState } from "./auth";

export function SourcesPage() {
  const found = useQuery(sources);
  const known = useQuery(connections).data?.items ?? [];
  const add = (
    <Link to="/sources/add" className={looks("primary")}>
      <Plus size={15} aria-hidden="true" /> Add a source
    </Link>
  );
  return (
    <Page title="Sources" about="Connected once, callable by every agent you let in." actions={add}>
      <Loaded asked={found} rows={4}>
        {({ items }) => (items.length ? <Rows items={items} known={known} /> : <Start />)}
      </Loaded>
      <Agents />
    </Page>
  );
}

function Rows({ items, known }: { items: Source[]; known: Connection[] }) {
  return (
    <ul className="card mb-5 divide-y divide-line overflow-hidden">
      {items.map((source) => (
        <li key={source.id}>
          <Link
            to="/sources/$id"
            params={{ id: source.namespace }}
            className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1 px-4 py-3 outline-offset-[-2px] hover:bg-raised sm:grid-cols-[minmax(0,1fr)_7rem_9rem_7rem]"
          >
            <span className="min-w-0">
              <span className="flex min-w-0 items-center gap-2">
                <span className="truncate font-medium">{visible(source.name)}</span>
                <Badge>{source.kind}</Badge>
              </span>
              <span className="block truncate text-dim text-xs">
                <code className="font-mono">{visible(source.namespace)}</code> ·{" "}
                {visible(source.baseUrl ?? source.location ?? source.command?.join(" ") ?? "")}
              </span>
            </span>
            <span className="self-center text-right text-sm tabular-nums sm:text-left">
              {source.toolCount.toLocaleString("en")} tools
            </span>
            <span className="flex flex-wrap gap-1.5 self-center">
              <SourceStatus source={source} />
              <AuthBadge source={source} known={known} />
            </span>
            <span className="self-center text-right text-dim text-xs">
              read <Ago at={source.refreshedAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

export function SourceStatus({ source }: { source: Source }) {
  if (source.status === "connected") return <Badge tone="ok">✓ connected</Badge>;
  return (
    <Badge tone="bad" title={visible(source.error ?? "")}>
      ✕ failing
    </Badge>
  );
}

export function AuthBadge({ source, known }: { source: Source; known: Connection[] }) {
  const state = authState(source, known);
  return state ? <Badge tone={state.tone}>{state.text}</Badge> : null;
}

function Start() {
  return (
    <section aria-label="Get started" className="card mb-5 px-6 py-8">
      <h2 className="font-semibold text-lg">Nothing is connected yet</h2>
      <p className="mt-1 max-w-xl text-dim">
        Connect an OpenAPI document, a GraphQL endpoint or an MCP server. Its operations become tools, each with its
        types, and every call passes your rules.
      </p>
      <ol className="mt-5 grid gap-4 sm:grid-cols-2">
        <li className="rounded-xl border border-line p-4">
          <p className="font-medium">See it work in a minute</p>
          <p className="mt-1 mb-3 text-dim text-sm">
            A sample API with a few invoices: it reads, and asks before it writes.
          </p>
          <Command text="executor demo" />
        </li>
        <li className="rounded-xl border border-line p-4">
          <p className="font-medium">Connect something of yours</p>
          <p className="mt-1 mb-3 text-dim text-sm">
            Paste an address: what is there is found out, and shown before it is connected.
          </p>
          <Link to="/sources/add" className={looks("primary")}>
            Add a source
          </Link>
        </li>
      </ol>
    </section>
  );
}
