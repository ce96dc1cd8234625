import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft, FunctionSquare, Settings2 } from "lucide-react";
import { connections, source, whoami } from "@/api/queries";
import type { Source } from "@/api/types";
import type { Filters } from "@/pages/tools/filters";
import { Manifest } from "@/pages/tools/manifest";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Page } from "@/ui/page";
import { Empty, Loaded, Trouble } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago } from "@/ui/time";
import { SourceChanges } from "./changes";
import { Definitions } from "./definitions";
import { RawDocument } from "./document";
import { HeldTools } from "./held";
import { Refresh } from "./refresh";
import { Search } from "./search";
import { AuthBadge, SourceStatus } from "./status";
import { ToolDetail } from "./tool";
import { ToolList } from "./tools";

export function SourcePage() {
  const { id } = useParams({ from: "/shell/sources/$id" });
  const asked = useQuery(source(id));
  if (asked.error)
    return (
      <Page title={visible(id)}>
        <Trouble error={asked.error} onRetry={asked.refetch} />
      </Page>
    );
  return (
    <Page
      title={visible(asked.data?.name ?? id)}
      about={asked.data && <About source={asked.data} />}
      wide
      actions={<Actions id={id} />}
    >
      <Loaded asked={asked} rows={10}>
        {(found) => <Views source={found} />}
      </Loaded>
    </Page>
  );
}

function Actions({ id }: { id: string }) {
  return (
    <>
      <Refresh id={id} />
      <Link to="/sources/$id/edit" params={{ id }} className={looks("plain")}>
        <Settings2 size={14} aria-hidden="true" /> Settings
      </Link>
    </>
  );
}

function About({ source }: { source: Source }) {
  const known = useQuery(connections).data?.items ?? [];
  return (
    <span className="mt-1 flex flex-wrap items-center gap-2">
      <Badge>{source.kind}</Badge>
      <SourceStatus source={source} />
      <AuthBadge source={source} known={known} />
      <code className="break-all font-mono text-xs">{visible(source.baseUrl ?? source.location ?? "")}</code>
      <span className="text-xs">
        refreshed <Ago at={source.refreshedAt} />
      </span>
      {source.error && <span className="basis-full text-bad">{visible(source.error)}</span>}
      {source.warning && <span className="basis-full text-warn">{visible(source.warning)}</span>}
    </span>
  );
}

function Views({ source }: { source: Source }) {
  const { view, ...search } = useSearch({ from: "/shell/sources/$id" });
  const may = useQuery(whoami).data?.permissions.includes("read") ?? true;
  const navigate = useNavigate({ from: "/sources/$id" });
  const turn = (id: string) => void navigate({ search: { view: id === "tools" ? undefined : id } });
  const change = (made: Filters) => void navigate({ search: (before) => ({ ...before, ...made }), replace: true });
  const filters = { q: search.q, effect: search.effect, policy: search.policy };
  const tabs = [
    { id: "tools", title: `Tools (${source.toolCount.toLocaleString("en")})`, content: <Tools source={source} /> },
    {
      id: "definitions",
      title: "Definitions",
      content: <Definitions source={source} known={source.refreshedAt} />,
    },
    ...(may
      ? [
          {
            id: "manifest",
            title: "Manifest",
            content: <Manifest source={source} filters={filters} onChange={change} />,
          },
          { id: "changes", title: "Changes", content: <SourceChanges source={source} /> },
          { id: "document", title: "Document", content: <RawDocument source={source} /> },
        ]
      : []),
  ];
  return (
    <>
      {may && source.kind === "mcp" && <HeldTools source={source} />}
      <Tabs label="Views of the source" tabs={tabs} value={view ?? "tools"} onChange={turn} />
    </>
  );
}

function Tools({ source }: { source: Source }) {
  const { tool, q } = useSearch({ from: "/shell/sources/$id" });
  const navigate = useNavigate({ from: "/sources/$id" });
  // What was run belongs to the tool that was open.
  const turn = (path: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, tool: path, tab: undefined, run: undefined, args: undefined }) });
  const search = (text: string) =>
    void navigate({ search: (before) => ({ ...before, q: text || undefined }), replace: true });
  return (
    <div className="grid min-w-0 gap-5 lg:grid-cols-[24rem_minmax(0,1fr)]">
      <div className={`min-w-0 lg:sticky lg:top-4 lg:self-start ${tool ? "hidden lg:block" : ""}`}>
        <Search text={q ?? ""} onSearch={search} />
        <ToolList source={source} text={q ?? ""} current={tool} onOpen={turn} />
        {source.skipped.length > 0 && <Skipped source={source} />}
      </div>
      <div className="min-w-0">
        {tool ? (
          <>
            <button
              type="button"
              onClick={() => turn(undefined)}
              className={`${looks("ghost", "small")} mb-3 lg:hidden`}
            >
              <ArrowLeft size={14} aria-hidden="true" /> All tools
            </button>
            <ToolDetail key={tool} path={tool} />
          </>
        ) : (
          <div className="hidden lg:block">
            <Empty icon={FunctionSquare} title="Choose a tool">
              Type what you want to do: “refund an order” finds it by meaning.
            </Empty>
          </div>
        )}
      </div>
    </div>
  );
}

function Skipped({ source }: { source: Source }) {
  return (
    <details className="mt-3 text-sm">
      <summary className="text-dim">{source.skipped.length} parts could not become tools</summary>
      <ul className="mt-2 max-h-64 space-y-1.5 overflow-y-auto text-xs">
        {source.skipped.map((one) => (
          <li key={one.where} className="break-words">
            <code className="font-mono">{visible(one.where)}</code>: {visible(one.reason)}
          </li>
        ))}
      </ul>
    </details>
  );
}
