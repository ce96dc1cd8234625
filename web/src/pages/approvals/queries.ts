import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { get, query } from "@/api/client";

export type Wanted = { show?: string; actor?: string; source?: string; like?: string };

export const STATES = ["approved", "denied", "expired", "cancelled", "superseded"];

/** Interactions, newest first, a page after the other. Without `show` only pending ones. */
export const inbox = ({ show, actor, source }: Wanted) => {
  const status = show === "all" ? undefined : STATES.includes(show ?? "") ? show : "pending";
  return infiniteQueryOptions({
    queryKey: ["interactions", "list", status ?? "all", actor ?? "", source ?? ""],
    queryFn: ({ pageParam: before, signal }) =>
      get(`/v1/interactions${query({ status, actor, source, before, limit: 100 })}`, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
};

const MOST = 100;

/** What one run waits for, with everything that a decision takes. */
export const waitingOf = (executionId: string) =>
  queryOptions({
    queryKey: ["interactions", "of", executionId, "pending"],
    queryFn: ({ signal }) => get(`/v1/interactions${query({ executionId, status: "pending", limit: MOST })}`, signal),
  });
