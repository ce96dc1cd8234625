import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, query } from "@/api/client";
import type { components } from "@/api/schema";
import { moment } from "@/pages/executions/filters";
import { command } from "@/text/code";

type Schemas = components["schemas"];
export type AuditEvent = Schemas["AuditEventView"];
export type Report = Schemas["AuditReportView"];
export type Filters = { actor?: string; type?: string; since?: string; until?: string; before?: string };

export const acts = (filters: Filters, now: number) =>
  queryOptions({
    queryKey: ["audit", filters, now],
    queryFn: ({ signal }) => {
      const { since, until, ...rest } = filters;
      const asked = { ...rest, since: moment(since, now), until: moment(until, now), limit: 100 };
      return get(`/v1/audit${query(asked)}`, signal);
    },
    placeholderData: keepPreviousData,
  });

export const verify = (head: string) => get(`/v1/audit/verify${query({ head })}`);

/** The same list in a terminal. */
export function listCommand(filters: Filters): string {
  const words = Object.entries(filters).flatMap(([name, value]) => (value ? [`--${name}`, value] : []));
  return command("audit", "list", ...words);
}
