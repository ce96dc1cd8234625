// One way to `/v1`: the session cookie says who asks, a problem document says what went wrong.
import { parse, write } from "./json";

export class Problem extends Error {
  readonly code: string;
  readonly hint: string;
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(status: number, body: Record<string, unknown>) {
    super(String(body.detail ?? `the daemon answered ${status}`));
    this.name = "Problem";
    this.status = status;
    this.code = String(body.code ?? "unknown");
    this.hint = String(body.hint ?? "");
    this.details = body;
  }
}

const WORKSPACE = "executor.workspace";

// A tab stays in its workspace, whatever other tabs do: nothing changes under anybody's hands. A new tab begins in
// the one that was chosen last.
let workspace = "";
try {
  workspace = sessionStorage.getItem(WORKSPACE) ?? localStorage.getItem(WORKSPACE) ?? "";
  sessionStorage.setItem(WORKSPACE, workspace);
} catch {
  // without storage the session's own workspace stays
}

export const chosenWorkspace = () => workspace;

export function chooseWorkspace(id: string): void {
  workspace = id;
  try {
    sessionStorage.setItem(WORKSPACE, id);
    localStorage.setItem(WORKSPACE, id);
  } catch {
    // it holds until the page is loaded again
  }
}

export function headers(extra: Record<string, string> = {}): Record<string, string> {
  return { Accept: "application/json", ...(workspace ? { "X-Executor-Workspace": workspace } : {}), ...extra };
}

export const unreachable = () =>
  new Problem(0, {
    detail: "Executor can't be reached",
    code: "unreachable",
    hint: "Start it with `executor up`.",
  });

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export async function call<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const sent = body === undefined ? headers() : headers({ "Content-Type": "application/json" });
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: sent,
      body: body === undefined ? undefined : write(body),
      credentials: "same-origin",
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  if (!answer.ok) throw new Problem(answer.status, await readProblem(answer));
  return answer.status === 204 ? (undefined as T) : (parse(await answer.text()) as T);
}

export async function readProblem(answer: Response): Promise<Record<string, unknown>> {
  try {
    return parse(await answer.text()) as Record<string, unknown>;
  } catch {
    return {};
  }
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown = {}) => call<T>("POST", path, body);
export const put = <T>(path: string, body: unknown) => call<T>("PUT", path, body);
export const patch = <T>(path: string, body: unknown) => call<T>("PATCH", path, body);
export const remove = <T>(path: string) => call<T>("DELETE", path);

/** A query string of what is given; nothing for what is not. */
export function query(values: Record<string, string | number | boolean | readonly string[] | undefined>): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const one of value) made.append(name, one);
    else if (value !== undefined && value !== "") made.set(name, String(value));
  }
  const text = made.toString();
  return text ? `?${text}` : "";
}
