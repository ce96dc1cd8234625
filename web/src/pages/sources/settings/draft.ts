// What a person typed into the settings of a source, and the edit that it means.
import type { Source } from "@/api/types";
import { words } from "../where";

/** A header or variable: one that is there has `kept`, and its value is unknown here; an empty `value` keeps it. */
export type Pair = { name: string; value: string; kept: boolean; gone: boolean };

export type Draft = {
  location: string;
  specUrl: string;
  baseUrl: string;
  transport: string;
  command: string;
  directory: string;
  refresh: string;
  review: string;
  headers: Pair[];
  environment: Pair[];
};

export type Edit = {
  location?: string;
  specUrl?: string;
  baseUrl?: string;
  transport?: "auto" | "http" | "sse";
  command?: string[];
  directory?: string;
  refreshSeconds?: number | null;
  review?: "writes" | "all" | "none" | null;
  headers?: Record<string, string | null>;
  environment?: Record<string, string | null>;
};

const kept = (names: string[] | undefined): Pair[] =>
  (names ?? []).map((name) => ({ name, value: "", kept: true, gone: false }));

export function draftOf(source: Source): Draft {
  return {
    location: source.command ? "" : (source.location ?? ""),
    specUrl: source.specUrl ?? "",
    baseUrl: source.baseUrl ?? "",
    transport: source.transport ?? "auto",
    command: (source.command ?? []).map(quoted).join(" "),
    directory: source.directory ?? "",
    refresh: source.refreshSeconds == null ? "" : String(source.refreshSeconds),
    review: source.review ?? "",
    headers: kept(source.headers),
    environment: kept(source.environment),
  };
}

/** One word as `words` takes it apart again. */
function quoted(word: string): string {
  if (word && !/[\s"']/.test(word)) return word;
  return word.includes('"') ? `'${word}'` : `"${word}"`;
}

/** Only what differs from the source as it was read. */
export function editOf(source: Source, draft: Draft): Edit {
  const before = draftOf(source);
  const edit: Edit = {};
  for (const name of ["location", "specUrl", "baseUrl", "directory"] as const)
    if (draft[name].trim() !== before[name]) edit[name] = draft[name].trim();
  if (draft.transport !== before.transport) edit.transport = draft.transport as Edit["transport"];
  if (draft.command !== before.command) edit.command = words(draft.command);
  if (draft.refresh !== before.refresh) edit.refreshSeconds = draft.refresh === "" ? null : Number(draft.refresh);
  if (draft.review !== before.review) edit.review = (draft.review || null) as Edit["review"];
  const headers = changes(draft.headers);
  if (headers) edit.headers = headers;
  const environment = changes(draft.environment);
  if (environment) edit.environment = environment;
  return edit;
}

function changes(pairs: Pair[]): Record<string, string | null> | null {
  const found: Record<string, string | null> = {};
  for (const { name, value, kept, gone } of pairs) {
    if (gone && kept) found[name] = null;
    else if (!gone && name.trim() && (value || !kept)) found[name.trim()] = value;
  }
  return Object.keys(found).length ? found : null;
}

export const isEmpty = (edit: Edit) => Object.keys(edit).length === 0;

/** The same edit as words for a terminal. Values that may be secret are prompted for there. */
export function optionsOf(edit: Edit): string[] {
  const named = (option: string, pairs: Record<string, string | null> | undefined) =>
    Object.entries(pairs ?? {}).flatMap(([name, value]) => [
      value === null ? `--remove-${option}` : `--${option}`,
      name,
    ]);
  const said: [string, string | undefined][] = [
    ["--spec-url", edit.specUrl],
    ["--base-url", edit.baseUrl],
    ["--transport", edit.transport],
    ["--cwd", edit.directory],
    ["--review", edit.review === undefined ? undefined : (edit.review ?? "default")],
    ["--refresh", edit.refreshSeconds === undefined ? undefined : interval(edit.refreshSeconds)],
  ];
  return [
    ...(edit.location ? [edit.location] : []),
    ...said.flatMap(([option, value]) => (value === undefined ? [] : [option, value])),
    ...named("header", edit.headers),
    ...named("env", edit.environment),
    ...(edit.command ? ["--", ...edit.command] : []),
  ];
}

function interval(seconds: number | null): string {
  return seconds === null ? "default" : seconds === 0 ? "never" : String(seconds);
}
