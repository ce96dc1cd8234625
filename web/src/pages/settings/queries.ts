// What the tabs read.
import { queryOptions } from "@tanstack/react-query";
import { type Address, get } from "@/api/client";

function list<A extends Address<"get">>(name: string, address: A) {
  return queryOptions({ queryKey: [name], queryFn: ({ signal }) => get(address, signal) });
}

export const keys = list("keys", "/v1/keys");
export const agents = list("agents", "/v1/agents");
export const members = list("members", "/v1/members");
export const invitations = list("invitations", "/v1/invitations");
export const sessions = list("sessions", "/v1/auth/sessions");

export const webhooks = list("webhooks", "/v1/webhooks");

/** What is under way changes without an event, so it is looked at again while anything is. */
export const deliveries = (id: string) =>
  queryOptions({
    queryKey: ["webhooks", id, "deliveries"],
    queryFn: ({ signal }) => get(`/v1/webhooks/${encodeURIComponent(id)}/deliveries?limit=20`, signal),
    refetchInterval: ({ state }) => (state.data?.items.some((one) => one.status === "pending") ? 1000 : false),
  });

export const separation = queryOptions({
  queryKey: ["separation"],
  queryFn: ({ signal }) => get("/v1/separation", signal),
});
