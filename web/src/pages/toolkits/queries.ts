// What the pages of toolkits read.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { get, query } from "@/api/client";

const address = (slug: string) => `/v1/toolkits/${encodeURIComponent(slug)}` as const;

export const toolkits = queryOptions({
  queryKey: ["toolkits"],
  queryFn: ({ signal }) => get("/v1/toolkits", signal),
});

export const toolkit = (slug: string) =>
  queryOptions({
    queryKey: ["toolkits", slug],
    queryFn: ({ signal }) => get(address(slug), signal),
  });

export const toolsOf = (slug: string) =>
  infiniteQueryOptions({
    queryKey: ["toolkits", slug, "tools"],
    queryFn: ({ signal, pageParam }) => get(`${address(slug)}/tools${query({ after: pageParam, limit: 200 })}`, signal),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });

export const keysOf = (slug: string) =>
  queryOptions({
    queryKey: ["toolkits", slug, "keys"],
    queryFn: ({ signal }) => get(`${address(slug)}/keys`, signal),
  });
