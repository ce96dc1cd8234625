import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { post } from "@/api/client";
import { execution } from "@/api/queries";
import type { Execution } from "@/api/types";
import { useConnection } from "@/live/live";
import { tellProblem } from "@/ui/toast";

const FINAL = ["completed", "failed", "cancelled"];
// What ends this soon is shown at once; anything longer is followed while it runs.
const SOON = 0.5;
const LOOK_AGAIN = 2000;

export const isFinal = (one: Execution | undefined) => one !== undefined && FINAL.includes(one.status);

type Submitted = { code: string; language?: string };

/** The run that the address names, live: it is still there after a decision elsewhere, Back, or a reload.
 * `show` puts another one into the address, or none. */
export function useRun(id: string | undefined, show: (id: string | undefined) => Promise<void>) {
  const client = useQueryClient();
  const connection = useConnection();
  const begin = useMutation({
    mutationFn: (body: Submitted) => post("/v1/executions", { ...body, wait: SOON, result: "preview" }),
    onSuccess: async (made, { code }) => {
      const { queryKey } = execution(made.executionId);
      client.setQueryData(queryKey, { ...made, code });
      await show(made.executionId);
      if (!isFinal(made)) await client.invalidateQueries({ queryKey });
    },
  });
  const asked = useQuery({
    ...execution(id ?? ""),
    enabled: Boolean(id),
    refetchInterval: ({ state }) => (isFinal(state.data) || connection === "live" ? false : LOOK_AGAIN),
  });
  const cancel = useMutation({
    mutationFn: (one: string) => post(`/v1/executions/${encodeURIComponent(one)}/cancel`),
    onSuccess: (_, one) => client.invalidateQueries({ queryKey: execution(one).queryKey }),
    onError: tellProblem,
  });
  const shown = id ? asked.data : undefined;
  const missing = id && !shown ? asked.error : null;
  const busy = begin.isPending || (shown !== undefined && (shown.status === "running" || shown.status === "queued"));
  const forget = () => void show(undefined);
  return { begin, cancel, shown, busy, missing, forget, error: begin.error ?? missing };
}

export type Run = ReturnType<typeof useRun>;
