import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { post } from "@/api/client";
import type { Execution } from "@/api/types";
import { Button, looks } from "@/ui/button";
import { tell, tellProblem } from "@/ui/toast";

const FINAL = ["completed", "failed", "cancelled"];

export function Acts({ execution }: { execution: Execution }) {
  const client = useQueryClient();
  const id = execution.executionId;
  const path = `/v1/executions/${encodeURIComponent(id)}`;
  const cancel = useMutation({
    mutationFn: () => post(`${path}/cancel`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["execution", id] }),
    onError: tellProblem,
  });
  const replay = useMutation({
    mutationFn: () => post<{ matches: boolean; detail: string }>(`${path}/replay`),
    onSuccess: (done) =>
      tell(done.matches ? "Run again from its journal, it does the same" : done.detail, !done.matches),
    onError: tellProblem,
  });
  const final = FINAL.includes(execution.status);
  return (
    <>
      {final && (
        <Button busy={replay.isPending} onClick={() => replay.mutate()} title="Nothing is sent">
          Check by replay
        </Button>
      )}
      {!final && (
        <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </Button>
      )}
      <Link to="/playground" search={{ from: id }} className={looks("plain")}>
        Run again…
      </Link>
    </>
  );
}
