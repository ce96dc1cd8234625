// What the pages read, each under a key that the live stream can renew.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, query } from "./client";
import type {
  ClientPage,
  Connection,
  Execution,
  ExecutionPage,
  Interaction,
  InteractionPage,
  PolicyPage,
  Secret,
  Source,
  SourcePage,
  SystemStatus,
  Tool,
  Who,
} from "./types";

export const whoami = queryOptions({
  queryKey: ["whoami"],
  queryFn: ({ signal }) => get<Who>("/v1/auth/whoami", signal),
  staleTime: 60_000,
  retry: false,
});

export const systemStatus = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => get<SystemStatus>("/v1/status", signal),
});

/** How MCP clients are connected; one that is started by stdio acts as `agent`. */
export const clients = (agent: string) =>
  queryOptions({
    queryKey: ["clients", agent],
    queryFn: ({ signal }) => get<ClientPage>(`/v1/clients${query({ agent })}`, signal),
  });

export const interactions = (status?: string) =>
  queryOptions({
    queryKey: ["interactions", status ?? "all"],
    queryFn: ({ signal }) => get<InteractionPage>(`/v1/interactions${query({ status, limit: 200 })}`, signal),
  });

/** How much waits for a decision: `total` counts all of it. */
export const waiting = queryOptions({
  queryKey: ["interactions", "count"],
  queryFn: ({ signal }) => get<InteractionPage>("/v1/interactions?status=pending&limit=1", signal),
});

export const interaction = (id: string) =>
  queryOptions({
    queryKey: ["interaction", id],
    queryFn: ({ signal }) => get<Interaction>(`/v1/interactions/${encodeURIComponent(id)}`, signal),
  });

export const executions = (status: string | undefined, before: string | undefined) =>
  queryOptions({
    queryKey: ["executions", status ?? "", before ?? ""],
    queryFn: ({ signal }) => get<ExecutionPage>(`/v1/executions${query({ status, before, limit: 50 })}`, signal),
    placeholderData: keepPreviousData,
  });

export const execution = (id: string) =>
  queryOptions({
    queryKey: ["execution", id],
    queryFn: ({ signal }) =>
      get<Execution>(
        `/v1/executions/${encodeURIComponent(id)}${query({ include: "calls,code", result: "preview" })}`,
        signal,
      ),
  });

export const sources = queryOptions({
  queryKey: ["sources"],
  queryFn: ({ signal }) => get<SourcePage>("/v1/sources", signal),
});

export const source = (id: string) =>
  queryOptions({
    queryKey: ["sources", id],
    queryFn: ({ signal }) => get<Source>(`/v1/sources/${encodeURIComponent(id)}`, signal),
  });

export const tool = (path: string) =>
  queryOptions({
    queryKey: ["tools", "one", path],
    queryFn: ({ signal }) =>
      get<Tool>(`/v1/tools/${encodeURIComponent(path)}${query({ includeSchemas: true, budget: 8000 })}`, signal),
  });

export const policies = queryOptions({
  queryKey: ["policies"],
  queryFn: ({ signal }) => get<PolicyPage>("/v1/policies", signal),
});

export const secrets = queryOptions({
  queryKey: ["secrets"],
  queryFn: ({ signal }) => get<{ items: Secret[] }>("/v1/secrets", signal),
});

export const connections = queryOptions({
  queryKey: ["connections"],
  queryFn: ({ signal }) => get<{ items: Connection[] }>("/v1/connections", signal),
});
