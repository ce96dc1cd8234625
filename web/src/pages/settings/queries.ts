// What the tabs read.
import { queryOptions } from "@tanstack/react-query";
import { get } from "@/api/client";
import type { Agent, Invitation, Key, Member, Session } from "@/api/types";

function list<One>(name: string, path: string) {
  return queryOptions({ queryKey: [name], queryFn: ({ signal }) => get<{ items: One[] }>(path, signal) });
}

export const keys = list<Key>("keys", "/v1/keys");
export const agents = list<Agent>("agents", "/v1/agents");
export const members = list<Member>("members", "/v1/members");
export const invitations = list<Invitation>("invitations", "/v1/invitations");
export const sessions = list<Session>("sessions", "/v1/auth/sessions");

type Separation = { separation: "default" | "off" | "destructive" | "all"; inForce: "off" | "destructive" | "all" };

export const separation = queryOptions({
  queryKey: ["separation"],
  queryFn: ({ signal }) => get<Separation>("/v1/separation", signal),
});
