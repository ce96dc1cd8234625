import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { get, query } from "@/api/client";
import { useAllPages } from "@/ui/pages";
import type { ManifestTool } from "./filters";

const PAGE = 1000;

/** The whole manifest, page by page: filters then answer at once, whatever they are. */
export function useManifest(source?: string) {
  const found = useInfiniteQuery({
    queryKey: ["tools", "manifest", source ?? ""],
    queryFn: ({ pageParam, signal }) =>
      source
        ? get(`/v1/sources/${encodeURIComponent(source)}/manifest${query({ limit: PAGE, after: pageParam })}`, signal)
        : get(`/v1/catalog/manifest${query({ limit: PAGE, after: pageParam })}`, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
  });
  useAllPages(found);
  const tools = useMemo<ManifestTool[]>(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]);
  const sources = useMemo(
    () => [...new Map(found.data?.pages.flatMap((page) => page.sources).map((one) => [one.id, one])).values()],
    [found.data],
  );
  return {
    tools,
    sources,
    pending: found.isPending,
    whole: !found.hasNextPage && !found.isPending,
    error: found.error,
  };
}
