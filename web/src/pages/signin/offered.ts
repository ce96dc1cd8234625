import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";

type Offered = { offered: boolean; issuer: string | null };

/** Whether there is an identity provider to sign in at, and which. */
export const offered = queryOptions({
  queryKey: ["oidc"],
  queryFn: ({ signal }) => call<Offered>("get", "/v1/auth/oidc/offered", undefined, signal),
  retry: false,
  staleTime: 300_000,
});
