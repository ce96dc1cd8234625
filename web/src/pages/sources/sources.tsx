import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import { connections, sources, useVisitor } from "@/api/queries";
import type { Connection, Source } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Page } from "@/ui/page";
import { Loaded, Skeleton } from "@/ui/states";
import { Ago } from "@/ui/time";
import { Agents } from "./agents";
import { FirstSteps } from "./firststeps";
import { KindMark } from "./kind";
import { Refresh } from "./refresh";
import { Start } from "./start";
import { AuthBadge, SourceStatus } from "./status";

const VisitorSources = lazy(() => import("./visitor").then((module) => ({ default: module.VisitorSources })));

export function SourcesPage() {
  const found = useQuery(sources);
  const known = useQuery(connections).data?.items ?? [];
  const visitor = useVisitor();
  const add = !visitor && (
    <Link to="/sources/add" className={looks("primary")}>
      <Plus size={15} aria-hidden="true" /> Add a source
    </Link>
  );
  return (
    <Page title="Sources" about="Connected once, callable by every agent you let in." actions={add} wide>
      <Loaded asked={found} rows={4}>
        {({ items }) => (
          <>
            {items.length ? <Connected items={items} known={known} /> : !visitor && <Start />}
            {visitor ? (
              <Suspense fallback={<Skeleton rows={4} />}>
                <VisitorSources empty={items.length === 0} />
              </Suspense>
            ) : (
              <Agents />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Connected({ items, known }: { items: Source[]; known: Connection[] }) {
  const demo = items.find((source) => source.hosted === "demo");
  return (
    <>
      {demo && items.length === 1 && <FirstSteps source={demo} />}
      <ul aria-label="Connected sources" className="card mb-5 divide-y divide-line overflow-hidden">
        {items.map((source) => (
          <Row key={source.id} source={source} known={known} />
        ))}
      </ul>
    </>
  );
}

function Row({ source, known }: { source: Source; known: Connection[] }) {
  const where = source.baseUrl ?? source.location ?? source.command?.join(" ") ?? "";
  return (
    <li>
      <Link
        to="/sources/$id"
        params={{ id: source.namespace }}
        className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1 px-4 py-3 outline-offset-[-2px] hover:bg-raised sm:grid-cols-[minmax(0,1fr)_13.5rem_5.5rem_8.5rem]"
      >
        <span className="flex min-w-0 items-center gap-3">
          <KindMark kind={source.kind} />
          <span className="min-w-0">
            <span className="flex min-w-0 items-center gap-2">
              <span className="truncate font-medium">{visible(source.name)}</span>
              <Badge>{source.kind}</Badge>
              {source.hosted && <Badge tone="accent">sample</Badge>}
            </span>
            <span className="block truncate text-dim text-xs">
              <code className="font-mono">{visible(source.namespace)}</code> · {visible(where)}
            </span>
          </span>
        </span>
        <span className="self-center text-right text-sm tabular-nums sm:order-2">
          {source.toolCount.toLocaleString("en")} {source.toolCount === 1 ? "tool" : "tools"}
        </span>
        <span className="flex flex-wrap gap-1.5 self-center sm:order-1">
          <SourceStatus source={source} />
          <AuthBadge source={source} known={known} />
        </span>
        <span className="self-center text-right text-dim text-xs sm:order-3">
          refreshed <Ago at={source.refreshedAt} />
        </span>
      </Link>
      {source.error && <Failing source={source} />}
    </li>
  );
}

/** Why it fails, and the two ways out: once more, or its settings. */
function Failing({ source }: { source: Source }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 bg-bad-soft/50 px-4 py-2 text-sm">
      <p className="min-w-0 flex-1 basis-64 break-words text-bad">{visible(source.error ?? "")}</p>
      <Refresh id={source.id} size="small" word="Try again" />
      <Link to="/sources/$id/edit" params={{ id: source.namespace }} className={looks("plain", "small")}>
        Settings
      </Link>
    </div>
  );
}
