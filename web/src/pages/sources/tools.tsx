import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { get, query } from "@/api/client";
import type { Effect, Source, ToolHead, ToolPage } from "@/api/types";
import { Empty, Skeleton, Trouble } from "@/ui/states";
import { type Row, rows } from "./rows";
import { ToolRow } from "./toolrow";

type Props = { source: Source; text: string; current: string | undefined; onOpen: (path: string) => void };
type Hits = { items: { path: string; description: string; effect: Effect }[]; total: number };

const HEIGHT = 34;

/** All of a source's tools, page by page behind the scenes; of 10,000 only those in sight are in the document. */
export function ToolList({ source, text, current, onOpen }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const all = useTools(source, !text);
  const hits = useQuery({
    queryKey: ["tools", "search", source.namespace, text],
    queryFn: ({ signal }) =>
      get<Hits>(`/v1/tools/search${query({ query: text, namespace: source.namespace, limit: 100, depth: 0 })}`, signal),
    enabled: Boolean(text),
    placeholderData: (before) => before,
  });
  const listed = useMemo(() => rows(all.tools, closed), [all.tools, closed]);
  const shown: Row[] = text
    ? (hits.data?.items ?? []).map((tool) => ({ kind: "tool", tool, depth: 0, label: tool.path }))
    : listed;
  const turn = (group: string) => {
    const made = new Set(closed);
    if (!made.delete(group)) made.add(group);
    setClosed(made);
  };
  const error = text ? hits.error : all.error;
  if (error) return <Trouble error={error} />;
  if (!shown.length && (text ? hits.isPending : all.pending)) return <Skeleton rows={10} />;
  if (!shown.length)
    return (
      <Empty title={text ? "Nothing found" : "It has no tools"}>
        {text && "Say it in other words: what is done, to what?"}
      </Empty>
    );
  return (
    <Virtual
      shown={shown}
      current={current}
      onOpen={onOpen}
      onTurn={turn}
      total={text ? shown.length : source.toolCount}
    />
  );
}

type VirtualProps = {
  shown: Row[];
  total: number;
  current: string | undefined;
  onOpen: (path: string) => void;
  onTurn: (group: string) => void;
};

function Virtual({ shown, total, current, onOpen, onTurn }: VirtualProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    overscan: 12,
  });
  return (
    <>
      <div ref={box} className="card max-h-[min(70dvh,46rem)] overflow-y-auto p-1">
        <ul aria-label="Tools" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = shown[item.index];
            return (
              row && (
                <li
                  key={item.key}
                  aria-posinset={item.index + 1}
                  aria-setsize={shown.length}
                  className="absolute inset-x-0 top-0"
                  style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                >
                  <ToolRow row={row} current={current} onOpen={onOpen} onTurn={onTurn} />
                </li>
              )
            );
          })}
        </ul>
      </div>
      <p role="status" className="mt-1.5 text-dim text-xs">
        {total.toLocaleString("en")} tools
      </p>
    </>
  );
}

function useTools(source: Source, wanted: boolean) {
  const found = useInfiniteQuery({
    queryKey: ["tools", "of", source.id],
    queryFn: ({ pageParam, signal }) =>
      get<ToolPage>(`/v1/tools${query({ source: source.id, limit: 1000, after: pageParam })}`, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    enabled: wanted,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  useEffect(() => {
    if (wanted && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [wanted, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const tools = useMemo<ToolHead[]>(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]);
  return { tools, pending: found.isPending, error: found.error };
}
