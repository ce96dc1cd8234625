import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Bot, Plus } from "lucide-react";
import type { Session } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice, Tick } from "@/ui/field";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { SessionBadge } from "./badge";
import { NewSession } from "./new";
import { agents, type Filters, listed, STATES } from "./queries";
import { tokens } from "./usage";

export function SessionsPage() {
  const { new: opened, ...filters } = useSearch({ from: "/shell/sessions" });
  const navigate = useNavigate({ from: "/sessions" });
  const asked = useQuery(listed(filters));
  const change = (made: Filters) =>
    void navigate({ search: (now) => ({ ...now, before: undefined, ...made }), replace: true });
  const open = (is: boolean) =>
    void navigate({ search: (now) => ({ ...now, new: is ? "yes" : undefined }), replace: true });
  return (
    <Page
      title="Sessions"
      wide
      about="Coding agents in isolated processes, under the same policies and approvals as everything else."
      actions={
        <Button look="primary" onClick={() => open(true)}>
          <Plus size={14} aria-hidden="true" /> New session
        </Button>
      }
    >
      <Toolbar filters={filters} onChange={change} />
      <Loaded asked={asked} rows={6}>
        {({ items, next }) => (
          <>
            {items.length === 0 ? <None filters={filters} onNew={() => open(true)} /> : <Rows items={items} />}
            <nav aria-label="Pages" className="mt-3 flex gap-2">
              {filters.before && (
                <Link to="/sessions" search={{ ...filters, before: undefined }} className={looks("plain", "small")}>
                  Newest
                </Link>
              )}
              {next && (
                <Link to="/sessions" search={{ ...filters, before: next }} className={looks("plain", "small")}>
                  Older
                </Link>
              )}
            </nav>
          </>
        )}
      </Loaded>
      <NewSession open={opened === "yes"} onClose={() => open(false)} />
    </Page>
  );
}

function Toolbar({ filters, onChange }: { filters: Filters; onChange: (made: Filters) => void }) {
  const known = useQuery(agents).data?.items ?? [];
  return (
    <search aria-label="Filters" className="mb-4 flex flex-wrap items-center gap-3">
      <div className="w-36">
        <Choice
          label="Status"
          hideLabel
          value={filters.status ?? ""}
          onChange={(event) => onChange({ status: event.target.value || undefined })}
        >
          <option value="">Any status</option>
          {STATES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Choice>
      </div>
      <div className="w-40">
        <Choice
          label="Agent"
          hideLabel
          value={filters.agent ?? ""}
          onChange={(event) => onChange({ agent: event.target.value || undefined })}
        >
          <option value="">Any agent</option>
          {known.map((one) => (
            <option key={one.name} value={one.name}>
              {one.title}
            </option>
          ))}
        </Choice>
      </div>
      <Tick
        label="Archived"
        checked={filters.archived === "yes"}
        onChange={(event) => onChange({ archived: event.target.checked ? "yes" : undefined })}
      />
    </search>
  );
}

function Rows({ items }: { items: Session[] }) {
  return (
    <ul aria-label="Sessions" className="card divide-y divide-line overflow-hidden">
      {items.map((one) => (
        <li key={one.id}>
          <Row session={one} />
        </li>
      ))}
    </ul>
  );
}

function Row({ session }: { session: Session }) {
  return (
    <Link
      data-row
      to="/sessions/$id"
      params={{ id: session.id }}
      className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-3 gap-y-1 px-4 py-2.5 outline-offset-[-2px] hover:bg-raised focus-visible:bg-raised md:grid-cols-[6.5rem_minmax(0,1fr)_8rem_7rem_8rem_5rem]"
    >
      <span className="flex h-5 items-center">
        <SessionBadge status={session.status} />
      </span>
      <span className="min-w-0">
        <span className="block truncate text-sm leading-5">{visible(session.title || "Untitled")}</span>
        <span className="block truncate font-mono text-dim text-xs">
          {visible(session.repository ? `${session.repository} · ${session.branch ?? ""}` : session.cwd)}
        </span>
      </span>
      <span className="col-span-2 flex min-w-0 flex-wrap gap-x-3 text-dim text-xs leading-5 md:contents">
        <span className="min-w-0 truncate">{visible(session.agent)}</span>
        <span className="min-w-0 truncate">{visible(session.actor ?? "")}</span>
        <span className="tabular-nums md:text-right">{session.usage && tokens(session.usage)}</span>
        <span className="ml-auto text-right">
          <Ago at={session.updatedAt} />
        </span>
      </span>
    </Link>
  );
}

function None({ filters, onNew }: { filters: Filters; onNew: () => void }) {
  if (filters.status || filters.agent || filters.archived || filters.before)
    return <Empty title="No matching sessions">Remove a filter to see more.</Empty>;
  return (
    <Empty
      icon={Bot}
      title="No sessions yet"
      action={
        <Button look="primary" onClick={onNew}>
          New session
        </Button>
      }
    >
      <p className="mb-3">Start a coding agent here, or in a terminal:</p>
      <Command text={command("sessions", "start", "claude-code", "--cwd", ".")} />
    </Empty>
  );
}
