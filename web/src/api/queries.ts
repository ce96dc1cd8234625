// What the pages read, each under a key that the live stream can renew.
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { get, query } from "./client";
import type { Match, Tool, Way } from "./types";

export const whoami = queryOptions({
  queryKey: ["whoami"],
  queryFn: ({ signal }) => get("/v1/auth/whoami", signal),
  staleTime: 60_000,
  retry: false,
});

/** Whether this browser has no account, and acts in the anonymous workspace that it opened. */
export const useVisitor = () => useQuery(whoami).data?.via === "anonymous_browser";

export const anonymousWorkspace = queryOptions({
  queryKey: ["anonymous"],
  queryFn: ({ signal }) => get("/v1/auth/anonymous/workspace", signal),
});

export const systemStatus = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => get("/v1/status", signal),
});

/** How MCP clients are connected; one that is started by stdio acts as `agent`. */
export const clients = (agent: string, toolkit = "") =>
  queryOptions({
    queryKey: ["clients", agent, toolkit],
    queryFn: ({ signal }) => get(`/v1/clients${query({ agent, toolkit })}`, signal),
  });

export const interactions = (status?: string) =>
  queryOptions({
    queryKey: ["interactions", status ?? "all"],
    queryFn: ({ signal }) => get(`/v1/interactions${query({ status, limit: 200 })}`, signal),
  });

/** How much waits for a decision: `total` counts all of it. */
export const waiting = queryOptions({
  queryKey: ["interactions", "count"],
  queryFn: ({ signal }) => get("/v1/interactions?status=pending&limit=1", signal),
});

export const interaction = (id: string) =>
  queryOptions({
    queryKey: ["interaction", id],
    queryFn: ({ signal }) => get(`/v1/interactions/${encodeURIComponent(id)}`, signal),
  });

export const executions = (status: string | undefined, before: string | undefined) =>
  queryOptions({
    queryKey: ["executions", status ?? "", before ?? ""],
    queryFn: ({ signal }) => get(`/v1/executions${query({ status, before, limit: 50 })}`, signal),
    placeholderData: keepPreviousData,
  });

export const execution = (id: string) =>
  queryOptions({
    queryKey: ["execution", id],
    queryFn: ({ signal }) =>
      get(`/v1/executions/${encodeURIComponent(id)}${query({ include: "calls,code", result: "preview" })}`, signal),
  });

export const sources = queryOptions({
  queryKey: ["sources"],
  queryFn: ({ signal }) => get("/v1/sources", signal),
});

export const source = (id: string) =>
  queryOptions({
    queryKey: ["sources", id],
    queryFn: ({ signal }) => get(`/v1/sources/${encodeURIComponent(id)}`, signal),
  });

export const tool = (path: string) =>
  queryOptions({
    queryKey: ["tools", "one", path],
    queryFn: ({ signal }) => describeTool(path, { includeSchemas: true, budget: 8000 }, signal),
  });

export const policies = queryOptions({
  queryKey: ["policies"],
  queryFn: ({ signal }) => get("/v1/policies", signal),
});

export const secrets = queryOptions({
  queryKey: ["secrets"],
  queryFn: ({ signal }) => get("/v1/secrets", signal),
});

export const connections = queryOptions({
  queryKey: ["connections"],
  queryFn: ({ signal }) => get("/v1/connections", signal),
});

// The document of the API leaves open what is in these answers.

type Described = { language?: string; budget: number; includeSchemas?: boolean };

export const describeTool = (path: string, asked: Described, signal?: AbortSignal) =>
  get(`/v1/tools/${encodeURIComponent(path)}${query(asked)}`, signal) as Promise<Tool>;

type Searched = { query: string; limit: number; namespace?: string; effect?: string };

/** Names and descriptions, without signatures. */
export const searchTools = async (asked: Searched, signal?: AbortSignal) => {
  const { items, total } = await get(`/v1/tools/search${query({ ...asked, depth: 0 })}`, signal);
  return { items: items as unknown[] as Match[], total };
};

export const readWays = async (source: string) => {
  const { items, sentTo } = await get(`/v1/sources/${encodeURIComponent(source)}/ways`);
  return { items: items as unknown[] as Way[], sentTo };
};
