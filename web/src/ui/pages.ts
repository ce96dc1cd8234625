import { useEffect } from "react";

type Found = {
  hasNextPage: boolean;
  isFetching: boolean;
  isFetchNextPageError: boolean;
  dataUpdatedAt: number;
  fetchNextPage: () => unknown;
};

/** A page that failed is requested again once the list is renewed, and not at once: it would fail the same way. */
export function isPageDue(found: Pick<Found, "hasNextPage" | "isFetching" | "isFetchNextPageError">) {
  return found.hasNextPage && !found.isFetching && !found.isFetchNextPageError;
}

/**
 * Fetches one page after the other until there are no more.
 *
 * A live event may renew the list at any moment, which cancels the page under way: so every end of a fetch counts, also
 * of one that began and ended between two renderings.
 */
export function useAllPages(found: Found, wanted = true) {
  const { dataUpdatedAt, fetchNextPage } = found;
  const isDue = wanted && isPageDue(found);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `dataUpdatedAt` is one more end of a fetch
  useEffect(() => {
    if (isDue) void fetchNextPage();
  }, [isDue, dataUpdatedAt, fetchNextPage]);
}
