import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, query } from "@/api/client";
import type { Session } from "@/api/types";

export type Filters = { status?: string; agent?: string; archived?: string; before?: string };

export const STATES: Session["status"][] = ["running", "waiting", "queued", "idle", "stopped"];

export const path = (id: string) => `/v1/sessions/${encodeURIComponent(id)}` as const;

export const listed = ({ status, agent, archived, before }: Filters) =>
  queryOptions({
    queryKey: ["agent_sessions", "list", status ?? "", agent ?? "", archived ?? "", before ?? ""],
    queryFn: ({ signal }) =>
      get(`/v1/sessions${query({ status, agent, before, archived: archived === "yes" || undefined })}`, signal),
    placeholderData: keepPreviousData,
  });

export const shown = (id: string) =>
  queryOptions({
    queryKey: ["agent_sessions", "one", id],
    queryFn: ({ signal }) => get(path(id), signal),
  });

export const changed = (id: string) =>
  queryOptions({
    queryKey: ["agent_sessions", "changes", id],
    queryFn: ({ signal }) => get(`${path(id)}/changes`, signal),
  });

export const agents = queryOptions({
  queryKey: ["agent_sessions", "agents"],
  queryFn: ({ signal }) => get("/v1/sessions/agents", signal),
});
export const terminals = (id: string) =>
  queryOptions({
    queryKey: ["agent_sessions", "terminals", id],
    queryFn: ({ signal }) => get(`${path(id)}/terminals`, signal),
  });

export const repositories = queryOptions({
  queryKey: ["agent_sessions", "repositories"],
  queryFn: ({ signal }) => get("/v1/sessions/repositories", signal),
});
