import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ShieldAlert } from "lucide-react";
import type { ReactNode } from "react";
import { get, post, query } from "@/api/client";
import { whoami } from "@/api/queries";
import type { components } from "@/api/schema";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge, EffectBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tell } from "@/ui/toast";
import { Differences } from "./changes";
import { path } from "./queries";

type Review = components["schemas"]["ReviewView"];

const reviews = (source: Source) =>
  infiniteQueryOptions({
    queryKey: ["sources", source.id, "review", source.refreshedAt],
    queryFn: ({ pageParam, signal }) =>
      get(path(source.id, `/review${query({ after: pageParam, limit: 50 })}`), signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
  });

/** Tools that their server has changed: what is different, and accepting exactly that. */
export function HeldTools({ source }: { source: Source }) {
  const asked = useInfiniteQuery(reviews(source));
  const total = asked.data?.pages[0]?.total ?? 0;
  if (asked.error) return <Trouble error={asked.error} onRetry={asked.refetch} />;
  if (!total) return null;
  const items = asked.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <section aria-label="Changes to review" className="mb-6 rounded-lg border border-warn p-4">
      <h2 className="flex items-center gap-2 font-medium">
        <ShieldAlert size={16} aria-hidden="true" /> The server changed {total === 1 ? "a tool" : `${total} tools`}
      </h2>
      <p className="mt-1 max-w-prose text-dim text-sm">
        The definitions that you know stay in use until someone accepts the new ones. Calls of a changed tool are
        refused, unless only its description is different.
      </p>
      <Accepting source={source} items={items} />
      {asked.hasNextPage && (
        <Button busy={asked.isFetchingNextPage} onClick={() => asked.fetchNextPage()}>
          Show more
        </Button>
      )}
      <Command text={command("sources", "review", source.namespace)} />
    </section>
  );
}

function Accepting({ source, items }: { source: Source; items: Review[] }) {
  const client = useQueryClient();
  const may = useQuery(whoami).data?.permissions.includes("administer");
  const accept = useMutation({
    mutationFn: (seen: Review[]) =>
      post(path(source.id, "/review/accept"), { tools: seen.map(({ path, digest }) => ({ path, digest })) }),
    onSuccess: (_, seen) => tell(seen.length === 1 ? "Accepted" : `${seen.length} changes accepted`),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["sources"] });
      client.invalidateQueries({ queryKey: ["tools"] });
    },
  });
  return (
    <>
      <ul className="my-3 divide-y divide-line rounded-lg border border-line">
        {items.map((item) => (
          <Item key={item.path} item={item}>
            {may && (
              <Button size="small" busy={accept.isPending} onClick={() => accept.mutate([item])}>
                Accept this change
              </Button>
            )}
          </Item>
        ))}
      </ul>
      {may && items.length > 1 && (
        <Button busy={accept.isPending} onClick={() => accept.mutate(items)}>
          Accept all {items.length} shown
        </Button>
      )}
      {accept.error ? <Trouble error={accept.error} /> : null}
    </>
  );
}

function Item({ item, children }: { item: Review; children: ReactNode }) {
  const { was, now } = item.description;
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-2">
        <code className="break-all font-mono text-xs">{visible(item.path)}</code>
        <EffectBadge effect={item.effect} />
        <Badge tone={item.refused ? "bad" : "quiet"}>{item.refused ? "calls refused" : "only its description"}</Badge>
        <span className="text-dim text-xs">
          <Ago at={item.since} />
        </span>
        <span className="ml-auto">{children}</span>
      </div>
      {was !== now && (
        <div className="mt-2 space-y-1 whitespace-pre-wrap break-words text-xs">
          {was && <del className="block rounded bg-bad-soft px-1 text-bad no-underline">{visible(was)}</del>}
          {now && <ins className="block rounded bg-ok-soft px-1 text-ok no-underline">{visible(now)}</ins>}
        </div>
      )}
      {item.differences.length > 0 && <Differences item={item} />}
    </li>
  );
}
