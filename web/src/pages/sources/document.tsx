import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Download } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { size } from "@/text/size";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Skeleton, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tellProblem } from "@/ui/toast";
import { linesOf, PRETTY } from "./lines";
import { documentPart, type Part } from "./queries";

const FIRST = PRETTY;
const NEXT = 512 * 1024;
const LINE = 20;
const ENDINGS: Record<string, string> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/graphql": "graphql",
};

/** The text a source was read from. Of a large one only what was scrolled to is fetched, and only what is in sight is shown. */
export function RawDocument({ source }: { source: Source }) {
  const asked = useInfiniteQuery({
    queryKey: ["sources", source.id, "document", source.refreshedAt],
    queryFn: ({ pageParam, signal }) => documentPart(source.id, pageParam, pageParam ? NEXT : FIRST, signal),
    initialPageParam: 0,
    getNextPageParam: (last: Part, pages: Part[]) => {
      const read = pages.reduce((sum, part) => sum + part.bytes.length, 0);
      return read < last.size && last.bytes.length > 0 ? read : undefined;
    },
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (asked.error) return <Trouble error={asked.error} />;
  const first = asked.data?.pages[0];
  if (!asked.data || !first) return <Skeleton rows={12} />;
  return (
    <section aria-label="Document" className="card min-w-0 p-4">
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-2 text-dim text-sm">
        <span>
          {first.mediaType} · {size(first.size)} · read <Ago at={first.readAt} />
        </span>
        <span className="ml-auto">
          <Save source={source} mediaType={first.mediaType} />
        </span>
      </div>
      <Lines
        pages={asked.data.pages}
        more={asked.hasNextPage && !asked.isFetchingNextPage ? asked.fetchNextPage : undefined}
      />
      <div className="mt-3">
        <Command text={command("sources", "document", source.namespace)} />
      </div>
    </section>
  );
}

function Lines({ pages, more }: { pages: Part[]; more: (() => unknown) | undefined }) {
  const box = useRef<HTMLElement>(null);
  const { lines, formatted } = useMemo(() => linesOf(pages), [pages]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 40,
  });
  const items = virtual.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (more && last > lines.length - 400) void more();
  }, [more, last, lines.length]);
  const whole = pages[0]?.size ?? 0;
  const read = pages.reduce((sum, part) => sum + part.bytes.length, 0);
  return (
    <>
      <section
        ref={box}
        tabIndex={0}
        aria-label="Text of the document"
        className="h-[min(65dvh,44rem)] overflow-auto rounded-lg border border-line bg-raised/60 font-mono text-xs leading-5"
      >
        <div className="relative min-w-max" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <div
              key={item.key}
              className="absolute top-0 left-0 flex whitespace-pre"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              <span aria-hidden="true" className="w-14 shrink-0 select-none pr-3 text-right text-dim">
                {item.index + 1}
              </span>
              <code>{visible(lines[item.index] ?? "", "\t")}</code>
            </div>
          ))}
        </div>
      </section>
      <p role="status" className="mt-1.5 text-dim text-xs">
        {formatted ? "Formatted for reading; the download is the original." : ""}
        {read < whole ? `${size(read)} of ${size(whole)} loaded; scroll for more.` : ""}
      </p>
    </>
  );
}

function Save({ source, mediaType }: { source: Source; mediaType: string }) {
  const save = useMutation({
    mutationFn: () => documentPart(source.id, 0, 1_000_000_000),
    onSuccess: ({ bytes: content }) => {
      const address = URL.createObjectURL(new Blob([content as BlobPart], { type: "application/octet-stream" }));
      const link = document.createElement("a");
      link.href = address;
      link.download = `${source.namespace}.${ENDINGS[mediaType] ?? "txt"}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    },
    onError: tellProblem,
  });
  return (
    <Button size="small" busy={save.isPending} onClick={() => save.mutate()}>
      <Download size={13} aria-hidden="true" /> Download
    </Button>
  );
}
