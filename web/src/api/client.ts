// One way to `/v1`: the session cookie says who asks, a problem document says what went wrong.
import { parse, write } from "./json";
import type { paths } from "./schema";

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

type Method = "get" | "post" | "put" | "patch" | "delete";

/** `/v1/keys/{key_id}` as the addresses that match it. */
type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;
type WithMethod<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [One in M]: object } ? P : never;
}[keyof paths];
export type Address<M extends Method> = Filled<WithMethod<M>> | `${Filled<WithMethod<M>>}?${string}`;

type WithoutQuery<A extends string> = A extends `${infer Path}?${string}` ? Path : A;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** The operation of the API's document that an address belongs to. */
type Operation<M extends Method, A extends string> = A extends string
  ? {
      [P in WithMethod<M>]: Same<WithoutQuery<A>, Filled<P>> extends true ? paths[P][M & keyof paths[P]] : never;
    }[WithMethod<M>]
  : never;
type Json<Content> = Content extends { content: { "application/json": infer Value } } ? Value : undefined;
type Answer<O> = O extends { responses: infer All } ? Json<All[keyof All & (200 | 201 | 202 | 204)]> : never;
/** Fields with a default are required in the generated types, so here none is. */
type Body<O> = O extends { requestBody?: { content: { "application/json": infer Value } } } ? Partial<Value> : object;

/** `get` and the others know the types of an address; this is for what the document of the API does not have. */
export async function call<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const sent = body === undefined ? headers() : headers({ "Content-Type": "application/json" });
  let answer: Response;
  try {
    answer = await fetch(path, {
      method: method.toUpperCase(),
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

export const get = <A extends Address<"get">>(address: A, signal?: AbortSignal) =>
  call<Answer<Operation<"get", A>>>("get", address, undefined, signal);

export const post = <A extends Address<"post">>(address: A, body?: Body<Operation<"post", A>>, signal?: AbortSignal) =>
  call<Answer<Operation<"post", A>>>("post", address, body ?? {}, signal);

export const put = <A extends Address<"put">>(address: A, body: Body<Operation<"put", A>>) =>
  call<Answer<Operation<"put", A>>>("put", address, body);

export const patch = <A extends Address<"patch">>(address: A, body: Body<Operation<"patch", A>>) =>
  call<Answer<Operation<"patch", A>>>("patch", address, body);

export const remove = <A extends Address<"delete">>(address: A) =>
  call<Answer<Operation<"delete", A>>>("delete", address);

/** A query string of what is given; nothing for what is not. */
export function query(
  values: Record<string, string | number | boolean | readonly string[] | undefined>,
): "" | `?${string}` {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const one of value) made.append(name, one);
    else if (value !== undefined && value !== "") made.set(name, String(value));
  }
  const text = made.toString();
  return text ? `?${text}` : "";
}
