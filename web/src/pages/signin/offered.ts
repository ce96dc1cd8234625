import { queryOptions } from "@tanstack/react-query";
import { get } from "@/api/client";

type Offered = { offered: boolean; issuer: string | null };

/** Whether there is an identity provider to sign in at, and which. */
export const offered = queryOptions({
  queryKey: ["oidc"],
  queryFn: ({ signal }) => get<Offered>("/v1/auth/oidc/offered", signal),
  retry: false,
  staleTime: 300_000,
});
