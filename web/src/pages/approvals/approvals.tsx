import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useRouter, useSearch } from "@tanstack/react-router";
import { ArrowLeft, ListChecks } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { interaction } from "@/api/queries";
import type { Interaction } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { command } from "@/text/code";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Kbd } from "@/ui/kbd";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { ApprovalDetail } from "./detail";
import { Filter } from "./filter";
import { grouped, likeness } from "./gist";
import { LikeCalls } from "./likes";
import { List } from "./list";
import { NoticesSwitch } from "./notices";
import { inbox, type Wanted } from "./queries";

/** The inbox, and beside it (on a narrow screen instead of it) the request that was opened. */
export function ApprovalsPage() {
  const { id } = useParams({ strict: false });
  const { like, ...wanted }: Wanted = useSearch({ strict: false });
  const found = useInfiniteQuery(inbox(wanted));
  const pages = found.data?.pages;
  const items = useMemo(
    () => grouped(pages?.flatMap((page) => page.items) ?? []).flatMap((group) => group.items),
    [pages],
  );
  useMoving(items, id, wanted);
  useFirst(items[0], id, wanted);
  const about = <span className={id ? "max-lg:hidden" : ""}>Calls waiting for your approval.</span>;
  const alone = !id && pages !== undefined && items.length === 0;
  return (
    <Page title="Approvals" about={about} wide actions={<NoticesSwitch />}>
      <div className={`grid min-w-0 grid-cols-1 gap-5 ${alone ? "" : "lg:grid-cols-[23rem_minmax(0,1fr)]"}`}>
        <div
          className={`lg:-mx-1 lg:sticky lg:top-4 lg:max-h-[calc(100dvh-2rem)] lg:self-start lg:overflow-y-auto lg:px-1 ${id ? "hidden lg:block" : ""}`}
        >
          <Filter wanted={wanted} />
          <Loaded asked={found}>
            {() =>
              items.length ? (
                <List {...{ items, wanted }} current={like ? undefined : id} />
              ) : (
                <Nothing wanted={wanted} />
              )
            }
          </Loaded>
          <More found={found} count={items.length} total={pages?.[0]?.total ?? 0} />
        </div>
        {!alone && (
          <div className="min-w-0">
            {!id ? (
              <Hint />
            ) : like ? (
              <Likes key={`like ${id}`} {...{ id, items, wanted }} />
            ) : (
              <Opened key={id} {...{ id, items, wanted }} />
            )}
          </div>
        )}
      </div>
    </Page>
  );
}

const WIDE = "(min-width: 64rem)";

/** Where there is room beside the list, the first that waits is open. It stays open when others come before it. */
function useFirst(first: Interaction | undefined, id: string | undefined, wanted: Wanted) {
  const navigate = useNavigate();
  const router = useRouter();
  const { show, actor, source } = wanted;
  const open = !id && first?.status === "pending" ? first.id : undefined;
  useEffect(() => {
    const leaving = router.latestLocation.pathname !== "/approvals"; // another page was requested and is still on its way
    if (!open || leaving || !matchMedia(WIDE).matches) return;
    void navigate({ to: "/approvals/$id", params: { id: open }, search: { show, actor, source }, replace: true });
  }, [open, show, actor, source, navigate, router]);
}

/** All that are like one of them, to decide together. */
function Likes({ id, items, wanted }: { id: string; items: Interaction[]; wanted: Wanted }) {
  const key = useRef("");
  const chosen = items.find((one) => one.id === id);
  if (chosen && !key.current) key.current = likeness(chosen);
  if (!key.current) return <Opened {...{ id, items, wanted }} />;
  return (
    <>
      <Back wanted={wanted} />
      <LikeCalls waiting={items.filter((one) => likeness(one) === key.current)} />
    </>
  );
}

function Back({ wanted }: { wanted: Wanted }) {
  return (
    <Link to="/approvals" search={wanted} className={`${looks("ghost", "small")} mb-3 lg:hidden`}>
      <ArrowLeft size={14} aria-hidden="true" /> All approvals
    </Link>
  );
}

/** With nothing open the keys move the focus through the list; with a request open, from one to the next. */
function useMoving(items: Interaction[], id: string | undefined, wanted: Wanted) {
  const navigate = useNavigate();
  const focused = () => (document.activeElement as HTMLElement | null)?.dataset.approval;
  const go = (step: number) => {
    const at = items.findIndex((one) => one.id === (id ?? focused()));
    const next = items[at < 0 ? 0 : Math.min(items.length - 1, Math.max(0, at + step))];
    if (!next) return;
    if (id) void navigate({ to: "/approvals/$id", params: { id: next.id }, search: wanted });
    else document.querySelector<HTMLElement>(`[data-approval="${CSS.escape(next.id)}"]`)?.focus();
  };
  const open = () => {
    const chosen = focused() ?? items[0]?.id;
    if (chosen && !id) void navigate({ to: "/approvals/$id", params: { id: chosen }, search: wanted });
  };
  useHotkeys({ j: () => go(1), k: () => go(-1), ArrowDown: () => go(1), ArrowUp: () => go(-1), o: open });
}

function More({
  found,
  count,
  total,
}: {
  found: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  count: number;
  total: number;
}) {
  if (count === 0) return null;
  return (
    <p className="mt-3 flex items-center justify-between gap-2 text-dim text-xs">
      <span>{count < total ? `${count} of ${total.toLocaleString("en")}` : `${total.toLocaleString("en")} total`}</span>
      {found.hasNextPage && (
        <Button size="small" busy={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </p>
  );
}

function Nothing({ wanted }: { wanted: Wanted }) {
  if (wanted.show || wanted.actor || wanted.source) {
    return (
      <Empty title="No requests match this filter">
        <Link to="/approvals" className="text-accent underline">
          Show everything pending
        </Link>
      </Empty>
    );
  }
  return (
    <Empty icon={ListChecks} title="No pending approvals">
      When an agent makes a call that needs approval, it appears here.{" "}
      <Link to="/policies" className="text-accent underline">
        Policies
      </Link>{" "}
      decide which calls do.
    </Empty>
  );
}

function Hint() {
  return (
    <div className="hidden lg:block">
      <Empty icon={ListChecks} title="Select a request">
        <Kbd keys={["J"]} /> and <Kbd keys={["K"]} /> move through the list, <Kbd keys={["Enter"]} /> opens.
      </Empty>
    </div>
  );
}

function Opened({ id, wanted, items }: { id: string; wanted: Wanted; items: Interaction[] }) {
  const asked = useQuery(interaction(id));
  return (
    <div>
      <Back wanted={wanted} />
      <Loaded asked={asked} rows={8}>
        {(found) => <ApprovalDetail asked={found} items={items} wanted={wanted} />}
      </Loaded>
      <details className="mt-4 text-sm">
        <summary className="text-dim">The same in a terminal</summary>
        <div className="mt-2 space-y-2">
          <Command text={command("approvals", "show", id)} />
          {asked.data?.kind === "elicitation" ? (
            <>
              <Command text={command("approvals", "answer", id)} />
              <Command text={command("approvals", "answer", id, "--decline")} />
            </>
          ) : (
            <>
              <Command text={command("approvals", "approve", id)} />
              <Command text={command("approvals", "approve", id, "--for", "always", "--covers", "call")} />
              <Command text={command("approvals", "deny", id, "--reason", "…")} />
            </>
          )}
        </div>
      </details>
    </div>
  );
}
