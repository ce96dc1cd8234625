// What only the pages of sources read.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { get, headers, Problem, query, readProblem } from "@/api/client";
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type Changes = Schemas["ChangesView"];
export type ToolChange = Schemas["ToolChange"];
export type Dependents = Schemas["DependentsView"];
export type Preview = Schemas["PreviewView"];

export const path = <Part extends string = "">(id: string, part: Part = "" as Part) =>
  `/v1/sources/${encodeURIComponent(id)}${part}` as const;

export const dependents = (id: string) =>
  queryOptions({
    queryKey: ["sources", id, "dependents"],
    queryFn: ({ signal }) => get(path(id, "/dependents"), signal),
  });

export const changes = (id: string, at: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["sources", id, "changes", at ?? ""],
    queryFn: ({ pageParam, signal }) => get(path(id, `/changes${query({ at, after: pageParam, limit: 50 })}`), signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
  });

export type Part = { bytes: Uint8Array; size: number; mediaType: string; readAt: string };

/** A part of a source's document, as it came. */
export async function documentPart(id: string, offset: number, limit: number, signal?: AbortSignal): Promise<Part> {
  const answer = await fetch(path(id, `/document${query({ offset, limit })}`), {
    headers: headers({ Accept: "*/*" }),
    credentials: "same-origin",
    signal,
  });
  if (!answer.ok) throw new Problem(answer.status, await readProblem(answer));
  return {
    bytes: new Uint8Array(await answer.arrayBuffer()),
    size: Number(answer.headers.get("X-Document-Size") ?? 0),
    mediaType: (answer.headers.get("Content-Type") ?? "").split(";")[0] ?? "",
    readAt: answer.headers.get("X-Document-Read-At") ?? "",
  };
}
