import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { post } from "@/api/client";
import { execution } from "@/api/queries";
import type { Execution } from "@/api/types";
import { useConnection } from "@/live/live";
import { tellProblem } from "@/ui/toast";
import type { Language } from "./language";

const FINAL = ["completed", "failed", "cancelled"];
// What ends this soon is shown at once; anything longer is followed while it runs.
const SOON = 0.5;
const LOOK_AGAIN = 2000;

export const isFinal = (one: Execution | undefined) => one !== undefined && FINAL.includes(one.status);

/** The run that the address names, live: it is still there after a look at the approval, or a reload. */
export function useRun(language: Language) {
  const { run } = useSearch({ from: "/shell/playground" });
  const navigate = useNavigate({ from: "/playground" });
  const client = useQueryClient();
  const connection = useConnection();
  const begin = useMutation({
    mutationFn: (code: string) => post<Execution>("/v1/executions", { code, language, wait: SOON, result: "preview" }),
    onSuccess: async (made, code) => {
      const { queryKey } = execution(made.executionId);
      client.setQueryData(queryKey, { ...made, code });
      await navigate({ search: (before) => ({ ...before, run: made.executionId }), replace: true });
      if (!isFinal(made)) await client.invalidateQueries({ queryKey });
    },
  });
  const asked = useQuery({
    ...execution(run ?? ""),
    enabled: Boolean(run),
    refetchInterval: ({ state }) => (isFinal(state.data) || connection === "live" ? false : LOOK_AGAIN),
  });
  const cancel = useMutation({
    mutationFn: (id: string) => post<Execution>(`/v1/executions/${encodeURIComponent(id)}/cancel`),
    onSuccess: (_, id) => client.invalidateQueries({ queryKey: execution(id).queryKey }),
    onError: tellProblem,
  });
  const shown = run ? asked.data : undefined;
  const busy = begin.isPending || (shown !== undefined && (shown.status === "running" || shown.status === "queued"));
  return { begin, cancel, shown, busy, error: begin.error ?? (run ? asked.error : null) };
}

export type Run = ReturnType<typeof useRun>;
