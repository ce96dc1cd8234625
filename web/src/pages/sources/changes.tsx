import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge, EffectBadge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice } from "@/ui/field";
import { Empty, Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { firstLine } from "./description";
import { type Changes, changes, type ToolChange } from "./queries";

const SIGNS: Record<ToolChange["change"], [Tone, string]> = {
  added: ["ok", "+ added"],
  removed: ["bad", "− removed"],
  changed: ["warn", "~ changed"],
  reworded: ["quiet", "≈ reworded"],
};

/** What reading the source again changed, kept until long after. */
export function SourceChanges({ source }: { source: Source }) {
  const { at } = useSearch({ from: "/shell/sources/$id" });
  const asked = useInfiniteQuery(changes(source.id, at));
  return (
    <section aria-label="Changes" className="space-y-4">
      <Loaded asked={{ ...asked, data: asked.data?.pages }} rows={6}>
        {(pages) => <Shown source={source} pages={pages} />}
      </Loaded>
      {asked.hasNextPage && (
        <Button busy={asked.isFetchingNextPage} onClick={() => asked.fetchNextPage()}>
          Show more
        </Button>
      )}
      <Command text={command("sources", "changes", source.namespace)} />
    </section>
  );
}

function Shown({ source, pages }: { source: Source; pages: Changes[] }) {
  const first = pages[0];
  if (!first?.revision)
    return (
      <Empty title="Nothing has changed since it was connected">
        Last refreshed <Ago at={source.refreshedAt} />. When a refresh adds, removes or changes tools, it is listed
        here.
      </Empty>
    );
  const { revision } = first;
  const isLast = revision.at === first.refreshedAt;
  const newest = revision.at === first.revisions[0]?.at;
  return (
    <>
      <div className="flex flex-wrap items-end justify-between gap-3">
        <p className="text-sm">
          {isLast ? "The last refresh" : "A refresh"} <Ago at={revision.at} />: {counted(revision)}.
          {!isLast && newest && (
            <span className="text-dim">
              {" "}
              It was refreshed <Ago at={first.refreshedAt} />
              without changes.
            </span>
          )}
        </p>
        {first.revisions.length > 1 && <Chosen at={revision.at} known={first.revisions} />}
      </div>
      <ul className="card divide-y divide-line">
        {pages
          .flatMap((page) => page.items)
          .map((item) => (
            <Item key={item.path} item={item} />
          ))}
      </ul>
    </>
  );
}

function counted(revision: NonNullable<Changes["revision"]>): string {
  const kinds = ["added", "removed", "changed", "reworded"] as const;
  return kinds
    .filter((kind) => revision[kind])
    .map((kind) => `${revision[kind].toLocaleString("en")} ${kind}`)
    .join(", ");
}

function Chosen({ at, known }: { at: string; known: Changes["revisions"] }) {
  const navigate = useNavigate({ from: "/sources/$id" });
  return (
    <Choice
      label="Refresh"
      value={at}
      onChange={(event) => void navigate({ search: (before) => ({ ...before, at: event.target.value }) })}
    >
      {known.map((one) => (
        <option key={one.at} value={one.at}>
          {new Date(one.at).toLocaleString()}: {counted(one)}
        </option>
      ))}
    </Choice>
  );
}

function Item({ item }: { item: ToolChange }) {
  const [tone, sign] = SIGNS[item.change];
  const name = <code className="break-all font-mono text-xs">{visible(item.path)}</code>;
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-2">
        <span className="w-20 shrink-0">
          <Badge tone={tone}>{sign}</Badge>
        </span>
        {item.change === "removed" ? (
          name
        ) : (
          <Link
            to="/sources/$id"
            params={{ id: item.path.split(".")[0] ?? "" }}
            search={{ tool: item.path }}
            className="underline"
          >
            {name}
          </Link>
        )}
        <EffectBadge effect={item.effect} />
      </div>
      {item.differences.length === 0 && item.description && (
        <p className="mt-1 line-clamp-2 text-dim text-xs">{visible(firstLine(item.description))}</p>
      )}
      {item.differences.length > 0 && <Differences item={item} />}
    </li>
  );
}

export function Differences({ item }: { item: Pick<ToolChange, "differences" | "cut"> }) {
  return (
    <ul className="mt-2 space-y-1 text-xs">
      {item.differences.map((one) => (
        <li key={`${one.at} ${one.what}`} className="flex flex-wrap items-baseline gap-x-2 break-words">
          <code className="font-mono">{visible(one.at)}</code>
          <span className="text-dim">{visible(one.what)}</span>
          {one.was && <del className="min-w-0 break-words rounded bg-bad-soft px-1 text-bad">{visible(one.was)}</del>}
          {one.was && one.now && <span aria-hidden="true">→</span>}
          {one.now && (
            <ins className="min-w-0 break-words rounded bg-ok-soft px-1 text-ok no-underline">{visible(one.now)}</ins>
          )}
        </li>
      ))}
      {item.cut && <li className="text-dim">… and more</li>}
    </ul>
  );
}
