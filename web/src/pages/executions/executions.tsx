import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Activity } from "lucide-react";
import { useRef, useState } from "react";
import { write } from "@/api/json";
import type { ExecutionSummary } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Kbd } from "@/ui/kbd";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { count, type Filters, listCommand } from "./filters";
import { useFresh } from "./fresh";
import { listed } from "./queries";
import { Rows } from "./rows";
import { Toolbar } from "./toolbar";

export function ExecutionsPage() {
  const filters: Filters = useSearch({ from: "/shell/executions" });
  const navigate = useNavigate({ from: "/executions" });
  // "The last hour" is that before one looked; asking for another one every second would never stop reading.
  const [looked, setLooked] = useState(Date.now);
  const asked = useQuery(listed(filters, looked));
  const change = (made: Filters) => {
    setLooked(Date.now());
    void navigate({ search: (now) => ({ ...now, before: undefined, ...made }), replace: true });
  };
  return (
    <Page title="Executions" wide about="Every execution, newest first. Paused executions can wait for days.">
      <Toolbar filters={filters} onChange={change} seen={asked.data?.items ?? []} />
      <Loaded asked={asked} rows={8}>
        {(page) => (
          <Listed key={write(filters)} items={page.items} filters={filters} further={page.partial ? page.next : null} />
        )}
      </Loaded>
    </Page>
  );
}

type ListedProps = { items: ExecutionSummary[]; filters: Filters; further: string | null };

/** `further` is where a search continues that ended before it had passed everything. */
function Listed({ items, filters, further }: ListedProps) {
  const list = useRef<HTMLUListElement>(null);
  const { shown, waiting, show } = useFresh(items, list);
  const last = shown.at(-1)?.executionId;
  const more = last !== undefined && items.at(-1)?.executionId !== last;
  useHotkeys({ j: () => step(list.current, 1), k: () => step(list.current, -1) });
  if (items.length === 0 && further === null) return <None filters={filters} />;
  return (
    <>
      <div aria-live="polite" className="pointer-events-none sticky top-14 z-10 h-0 text-center md:top-3">
        {waiting > 0 && !filters.before && (
          <button
            type="button"
            onClick={show}
            className="-translate-y-2 pointer-events-auto rounded-full bg-accent px-3 py-1 font-medium text-accent-ink text-xs shadow-card"
          >
            ↑ {waiting} new
          </button>
        )}
      </div>
      <Rows items={shown} list={list} />
      <nav aria-label="Pages" className="mt-3 flex flex-wrap items-center gap-2">
        {filters.before && (
          <Link to="/executions" search={{ ...filters, before: undefined }} className={looks("plain", "small")}>
            Newest
          </Link>
        )}
        {!more && further !== null && (
          <Link to="/executions" search={{ ...filters, before: further }} className={looks("plain", "small")}>
            {items.length ? "Search older ones" : "No match yet: search older ones"}
          </Link>
        )}
        {more && (
          <Link to="/executions" search={{ ...filters, before: last }} className={looks("plain", "small")}>
            Older
          </Link>
        )}
        <span className="ml-auto hidden text-dim text-xs sm:inline">
          <Kbd keys={["J", "K"]} /> to move, <Kbd keys={["Enter"]} /> to open
        </span>
      </nav>
      <div className="mt-4">
        <Command text={listCommand(filters)} />
      </div>
    </>
  );
}

/** The focus goes from row to row; Enter then opens it, as with any link. */
function step(list: HTMLElement | null, by: number): void {
  const rows = [...(list?.querySelectorAll<HTMLElement>("a[data-row]") ?? [])];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
}

function None({ filters }: { filters: Filters }) {
  if (filters.before) return <Empty title="No older executions" />;
  if (count(filters) > 0) return <Empty title="No matching executions">Remove a filter to see more.</Empty>;
  return (
    <Empty icon={Activity} title="Nothing has run yet">
      <p className="mb-3">Give your agent a task, write code in the playground, or run:</p>
      <Command text="executor call 'return [1, 2, 3].map((n) => n * 2)'" />
    </Empty>
  );
}
