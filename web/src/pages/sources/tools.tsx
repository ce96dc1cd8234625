import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { get, query } from "@/api/client";
import { searchTools } from "@/api/queries";
import type { Effect, Source, ToolHead } from "@/api/types";
import { useAllPages } from "@/ui/pages";
import { Empty, isOutdated, Skeleton, Trouble } from "@/ui/states";
import { type Row, rows } from "./rows";
import { Virtual } from "./virtual";

type Props = { source: Source; text: string; current: string | undefined; onOpen: (path: string) => void };
type Hits = { items: { path: string; description: string; effect: Effect }[]; total: number };

/** All of a source's tools, page by page behind the scenes; of 10,000 only those in sight are in the document. */
export function ToolList({ source, text, current, onOpen }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const all = useTools(source, !text);
  const hits = useQuery({
    queryKey: ["tools", "search", source.namespace, text],
    queryFn: ({ signal }) => searchTools({ query: text, namespace: source.namespace, limit: 100 }, signal),
    enabled: Boolean(text),
    placeholderData: (before) => before,
  });
  const listed = useMemo(() => rows(all.tools, closed), [all.tools, closed]);
  const shown: Row[] = text ? (hits.data?.items ?? []).map(asRow) : listed;
  const turn = (group: string) => {
    const made = new Set(closed);
    if (!made.delete(group)) made.add(group);
    setClosed(made);
  };
  const error = text ? (isOutdated(hits) ? hits.failureReason : hits.error) : all.error;
  if (error) return <Trouble error={error} />;
  if (!shown.length && (text ? hits.isPending : all.pending)) return <Skeleton rows={10} />;
  if (!shown.length) return <Nothing text={text} source={source} />;
  return (
    <Virtual
      shown={shown}
      found={Boolean(text)}
      current={current}
      onOpen={onOpen}
      onTurn={turn}
      total={text ? shown.length : source.toolCount}
    />
  );
}

function asRow(tool: Hits["items"][number]): Row {
  return { kind: "tool", key: tool.path, tool, depth: 0, label: tool.path };
}

function Nothing({ text, source }: { text: string; source: Source }) {
  if (text) return <Empty title="Nothing found">Try other words: an action and an object.</Empty>;
  return (
    <Empty title="It has no tools yet">
      {source.status === "failing" ? "It could not be read. Its error is above; a credential may be missing." : ""}
    </Empty>
  );
}

function useTools(source: Source, wanted: boolean) {
  const found = useInfiniteQuery({
    queryKey: ["tools", "of", source.id],
    queryFn: ({ pageParam, signal }) =>
      get(`/v1/tools${query({ source: source.id, limit: 1000, after: pageParam })}`, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    enabled: wanted,
  });
  useAllPages(found, wanted);
  const tools = useMemo<ToolHead[]>(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]);
  return { tools, pending: found.isPending, error: found.error };
}
