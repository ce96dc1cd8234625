// What the pages of executions read. Keys begin like those of the shared queries, so that the live stream renews them.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, query } from "@/api/client";
import type { components } from "@/api/schema";
import type { Interaction } from "@/api/types";
import { asked, type Filters } from "./filters";

type Schemas = components["schemas"];
export type CallHead = Schemas["CallHead"];
export type Replay = Schemas["ReplayView"];
export type Decided = Interaction & { callSeq?: number | null };

/** More than is shown: what is new may stay out of sight for a while without pushing the last ones out. */
export const SHOWN = 50;
const READ = 100;

const of = (id: string) => `/v1/executions/${encodeURIComponent(id)}` as const;

export const listed = (filters: Filters, minute: number) =>
  queryOptions({
    queryKey: ["executions", "list", filters, minute],
    queryFn: ({ signal }) => get(`/v1/executions${query({ ...asked(filters, minute), limit: READ })}`, signal),
    placeholderData: keepPreviousData,
    // The calls of those that run are counted again now and then; everything else comes with the live stream.
    refetchInterval: ({ state }) => (state.data?.items.some((one) => one.status === "running") ? 2000 : false),
  });

/** Without arguments and results: those of 500 calls would be read again with every one of them. */
export const shown = (id: string) =>
  queryOptions({
    queryKey: ["execution", id, "page"],
    queryFn: ({ signal }) => get(`${of(id)}${query({ include: "code,heads", result: "preview" })}`, signal),
  });

export const whole = (id: string, seq: number) =>
  queryOptions({
    queryKey: ["execution", id, "call", seq],
    queryFn: async ({ signal }) => (await get(`${of(id)}/calls${query({ seq, result: "preview" })}`, signal)).items[0],
  });

export const decisions = (id: string) =>
  queryOptions({
    queryKey: ["interactions", "of", id],
    queryFn: ({ signal }) => get(`/v1/interactions${query({ executionId: id, limit: 500 })}`, signal),
  });

/** When the daemon had stopped and the execution was taken up again. */
export const recoveries = (id: string) =>
  queryOptions({
    queryKey: ["execution", id, "recoveries"],
    queryFn: ({ signal }) => get(`${of(id)}/events${query({ type: "execution.recovered", limit: 100 })}`, signal),
  });

export const eventsAddress = (id: string, type: string[], after: number) =>
  `${of(id)}/events${query({ type, after: after || undefined, limit: 200 })}` as const;
