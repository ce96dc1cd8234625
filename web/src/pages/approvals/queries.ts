import { infiniteQueryOptions } from "@tanstack/react-query";
import { get, query } from "@/api/client";
import type { InteractionPage } from "@/api/types";

export type Wanted = { show?: string; actor?: string; source?: string };

export const STATES = ["approved", "denied", "expired", "cancelled", "superseded"];

/** What is asked, newest first, a page after the other. Without `show` only what waits. */
export const inbox = ({ show, actor, source }: Wanted) => {
  const status = show === "all" ? undefined : STATES.includes(show ?? "") ? show : "pending";
  return infiniteQueryOptions({
    queryKey: ["interactions", "list", status ?? "all", actor ?? "", source ?? ""],
    queryFn: ({ pageParam: before, signal }) =>
      get<InteractionPage>(`/v1/interactions${query({ status, actor, source, before, limit: 100 })}`, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
};
