// Artifacts as the pages read them.
import { queryOptions } from "@tanstack/react-query";
import { get, headers, Problem, query, readProblem } from "@/api/client";
import type { Artifact } from "@/api/types";

const path = (id: string) => `/v1/artifacts/${encodeURIComponent(id)}` as const;

/** Under the execution's key, so that whatever happens to it renews them too. */
export const artifactsOf = (execution: string) =>
  queryOptions({
    queryKey: ["execution", execution, "artifacts"],
    queryFn: ({ signal }) => get(`/v1/artifacts${query({ execution, limit: 200 })}`, signal),
  });

export const artifact = (execution: string, id: string) =>
  queryOptions({
    queryKey: ["execution", execution, "artifacts", id],
    queryFn: ({ signal }) => get(path(id), signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

export async function contentOf(id: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  const answer = await fetch(`${path(id)}/content`, {
    headers: headers({ Accept: "*/*" }),
    credentials: "same-origin",
    signal,
  });
  if (!answer.ok) throw new Problem(answer.status, await readProblem(answer));
  return answer.arrayBuffer();
}

/** Saved as bytes whatever it claims to be, so that no browser opens it as a page of ours. */
export async function save(kept: Artifact): Promise<void> {
  const address = URL.createObjectURL(new Blob([await contentOf(kept.id)], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = kept.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// Pictures that can't carry a script. They are drawn from a data address, which the page's policy allows.
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const LARGEST_PICTURE = 5_000_000;

export const isPicture = (kept: Artifact) => PICTURES.includes(kept.mediaType) && kept.size <= LARGEST_PICTURE;

export const picture = (execution: string, kept: Artifact) =>
  queryOptions({
    queryKey: ["execution", execution, "artifacts", kept.id, "picture"],
    queryFn: async ({ signal }) => address(new Blob([await contentOf(kept.id, signal)], { type: kept.mediaType })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

function address(blob: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}
