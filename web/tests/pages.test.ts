// Lists that are loaded page after page.
import { InfiniteQueryObserver, QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { isPageDue } from "@/ui/pages";

test("a further page that failed is not requested again until the list is renewed", async () => {
  const asked: number[] = [];
  let isRefused = true;
  const observer = new InfiniteQueryObserver(new QueryClient(), {
    queryKey: ["tools"],
    queryFn: ({ pageParam }) => {
      asked.push(pageParam);
      return pageParam && isRefused ? Promise.reject(new Error("400")) : Promise.resolve(pageParam);
    },
    initialPageParam: 0,
    getNextPageParam: (last: number) => (last < 2 ? last + 1 : undefined),
    retry: false,
  });
  const stop = observer.subscribe(() => undefined);
  const load = async () => {
    for (let times = 0; times < 5 && isPageDue(observer.getCurrentResult()); times++) await observer.fetchNextPage();
  };
  await observer.refetch();
  await load();
  expect(asked.filter((page) => page === 1)).toEqual([1]);
  isRefused = false;
  await observer.refetch();
  await load();
  expect(observer.getCurrentResult().data?.pages).toEqual([0, 1, 2]);
  stop();
});
