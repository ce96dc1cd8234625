// The filters of the list: as the address of the page has them, and as `/v1` and the CLI take them.
import type { Status } from "@/api/types";
import { command } from "@/text/code";

export const STATES: Status[] = ["queued", "running", "paused", "completed", "failed", "cancelled"];
export const NAMES = ["status", "language", "runtime", "actor", "tool", "text", "since", "until", "before"] as const;
export type Filters = Partial<Record<(typeof NAMES)[number], string>>;

export const AGES: [value: string, title: string][] = [
  ["1h", "Last hour"],
  ["24h", "Last day"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];
const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function statuses(filters: { status?: string }): Status[] {
  const named = (filters.status ?? "").split(",");
  return STATES.filter((one) => named.includes(one));
}

/** Milliseconds of `24h` before now, or of a time as the browser's fields write it; nothing for what is neither. */
export function moment(text: string | undefined, now: number): number | undefined {
  const ago = /^(\d{1,6})([smhd])$/.exec(text ?? "");
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0);
  const at = text ? Date.parse(text) : Number.NaN;
  return Number.isFinite(at) && at >= 0 ? at : undefined;
}

export function asked(filters: Filters, now: number) {
  const { status: _, since, until, ...rest } = filters;
  return { ...rest, status: statuses(filters), since: moment(since, now), until: moment(until, now) };
}

/** How many filters are set; the page one is on is none. */
export function count(filters: Filters): number {
  return NAMES.filter((name) => name !== "before" && filters[name]).length;
}

/** The same list in a terminal. */
export function listCommand(filters: Filters): string {
  const words = statuses(filters).flatMap((one) => ["--status", one]);
  for (const name of NAMES) {
    const value = filters[name];
    if (name !== "status" && value) words.push(`--${name}`, value);
  }
  return command("executions", "list", ...words);
}
