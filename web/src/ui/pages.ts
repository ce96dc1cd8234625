import { useEffect } from "react";

type Found = {
  hasNextPage: boolean;
  isFetching: boolean;
  dataUpdatedAt: number;
  fetchNextPage: () => unknown;
};

/**
 * Fetches one page after the other until there are no more.
 *
 * A live event may renew the list at any moment, which cancels the page under way: so every end of a fetch counts, also
 * of one that began and ended between two renderings.
 */
export function useAllPages({ hasNextPage, isFetching, dataUpdatedAt, fetchNextPage }: Found, wanted = true) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `dataUpdatedAt` is one more end of a fetch
  useEffect(() => {
    if (wanted && hasNextPage && !isFetching) void fetchNextPage();
  }, [wanted, hasNextPage, isFetching, dataUpdatedAt, fetchNextPage]);
}
