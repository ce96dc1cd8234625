import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, post } from "@/api/client";
import type { Draft } from "./command";

/** With what each policy is about. Under the same key as the plain list, so that both are renewed together. */
export const policies = queryOptions({
  queryKey: ["policies", "reach"],
  queryFn: ({ signal }) => get("/v1/policies?reach=true", signal),
});

export const agents = queryOptions({
  queryKey: ["agents"],
  queryFn: ({ signal }) => get("/v1/agents", signal),
});

type Tried = { rule?: Draft; position?: number; order?: string[]; without?: string[] };

/** What other policies would have made of past calls. */
export const simulation = (tried: Tried, enabled = true) =>
  queryOptions({
    queryKey: ["matches", "past", tried],
    queryFn: () => post("/v1/policies/simulate", tried),
    placeholderData: keepPreviousData,
    retry: false,
    enabled,
  });
