import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useMemo } from "react";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { size } from "@/text/size";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { saveFile } from "@/ui/download";
import { Lines } from "@/ui/lines";
import { Skeleton, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tellProblem } from "@/ui/toast";
import { linesOf, PRETTY } from "./lines";
import { documentPart, type Part } from "./queries";

const FIRST = PRETTY;
const NEXT = 512 * 1024;
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
      <Text
        pages={asked.data.pages}
        more={asked.hasNextPage && !asked.isFetchingNextPage ? asked.fetchNextPage : undefined}
      />
      <div className="mt-3">
        <Command text={command("sources", "document", source.namespace)} />
      </div>
    </section>
  );
}

function Text({ pages, more }: { pages: Part[]; more: (() => unknown) | undefined }) {
  const { lines, formatted } = useMemo(() => linesOf(pages), [pages]);
  const whole = pages[0]?.size ?? 0;
  const read = pages.reduce((sum, part) => sum + part.bytes.length, 0);
  return (
    <>
      <Lines lines={lines} label="Text of the document" onNear={more} />
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
    onSuccess: ({ bytes: content }) =>
      saveFile(`${source.namespace}.${ENDINGS[mediaType] ?? "txt"}`, content as BlobPart),
    onError: tellProblem,
  });
  return (
    <Button size="small" busy={save.isPending} onClick={() => save.mutate()}>
      <Download size={13} aria-hidden="true" /> Download
    </Button>
  );
}
