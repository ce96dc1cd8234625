import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { interaction, interactions } from "@/api/queries";
import type { Interaction } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { command } from "@/text/code";
import { looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { List } from "./list";
import { Question } from "./question";

/** The inbox, and beside it (on a narrow screen instead of it) the question that was opened. */
export function ApprovalsPage() {
  const { id } = useParams({ strict: false });
  const { show } = useSearch({ strict: false });
  const all = show === "all";
  const found = useQuery(interactions(all ? undefined : "pending"));
  const navigate = useNavigate();
  const items = found.data?.items ?? [];
  const go = (step: number) => {
    const at = items.findIndex((one) => one.id === id);
    const next = items[Math.min(items.length - 1, Math.max(0, at + step))];
    if (next) void navigate({ to: "/approvals/$id", params: { id: next.id }, search: { show } });
  };
  useHotkeys({ j: () => go(1), k: () => go(-1), ArrowDown: () => go(1), ArrowUp: () => go(-1) });
  const about = id ? undefined : "What agents may do only after somebody has looked at exactly that.";
  return (
    <Page title="Approvals" about={about} wide actions={<Filter all={all} id={id} />}>
      <div className="grid min-w-0 gap-5 lg:grid-cols-[22rem_minmax(0,1fr)]">
        <div className={id ? "hidden lg:block" : ""}>
          <Loaded asked={found}>
            {({ items }) =>
              items.length ? <List items={items} current={id} show={show} /> : <NothingWaits all={all} />
            }
          </Loaded>
        </div>
        <div className="min-w-0">
          {id ? <Opened key={id} id={id} show={show} items={items} /> : items.length > 0 && <Hint />}
        </div>
      </div>
    </Page>
  );
}

function Filter({ all, id }: { all: boolean; id: string | undefined }) {
  const to = id ? "/approvals/$id" : "/approvals";
  return (
    <Link to={to} params={id ? { id } : {}} search={{ show: all ? undefined : "all" }} className={looks("plain")}>
      {all ? "Only what waits" : "Show decided ones too"}
    </Link>
  );
}

function NothingWaits({ all }: { all: boolean }) {
  return (
    <Empty title={all ? "Nothing was asked yet" : "Nothing waits for you"}>
      When an agent wants to do something that needs a decision, it appears here at once.
    </Empty>
  );
}

function Hint() {
  return (
    <div className="hidden lg:block">
      <Empty title="Choose what to decide">
        <kbd className="font-mono">j</kbd> and <kbd className="font-mono">k</kbd> move through the list.
      </Empty>
    </div>
  );
}

function Opened({ id, show, items }: { id: string; show: string | undefined; items: Interaction[] }) {
  const asked = useQuery(interaction(id));
  const next = items.find((one) => one.id !== id && one.status === "pending");
  return (
    <div>
      <Link to="/approvals" search={{ show }} className={`${looks("ghost", "small")} mb-3 lg:hidden`}>
        <ArrowLeft size={14} aria-hidden="true" /> All approvals
      </Link>
      <Loaded asked={asked} rows={8}>
        {(found) => <Question asked={found} next={next} />}
      </Loaded>
      <details className="mt-4 text-sm">
        <summary className="text-dim">The same in a terminal</summary>
        <div className="mt-2 space-y-2">
          <Command text={command("approvals", "show", id)} />
          <Command text={command("approvals", "approve", id)} />
          <Command text={command("approvals", "deny", id)} />
        </div>
      </details>
    </div>
  );
}
