import { queryOptions } from "@tanstack/react-query";
import { call, get } from "@/api/client";

type Offered = { offered: boolean; issuer: string | null };

/** Whether there is an identity provider to sign in at, and which. */
export const offered = queryOptions({
  queryKey: ["oidc"],
  queryFn: ({ signal }) => call<Offered>("get", "/v1/auth/oidc/offered", undefined, signal),
  retry: false,
  staleTime: 300_000,
});

/** Whether strangers may open a workspace. */
export const anonymousOffered = queryOptions({
  queryKey: ["anonymous", "offered"],
  queryFn: ({ signal }) => get("/v1/auth/anonymous/offered", signal),
  retry: false,
  staleTime: 300_000,
});
