import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { post } from "@/api/client";
import type { Execution } from "@/api/types";
import { command } from "@/text/code";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { tell, tellProblem } from "@/ui/toast";
import type { CallHead } from "./queries";

export const FINAL = ["completed", "failed", "cancelled"];

type Props = { execution: Execution; replaying: boolean; onReplay: () => void };

export function Acts({ execution, replaying, onReplay }: Props) {
  const final = FINAL.includes(execution.status);
  return (
    <>
      {final ? (
        <Button
          busy={replaying}
          onClick={onReplay}
          title="Runs it again from its journal and compares; nothing is sent"
        >
          Check by replay
        </Button>
      ) : (
        <Cancel execution={execution} />
      )}
      <Link to="/playground" search={{ from: execution.executionId }} className={looks("plain")}>
        Edit in the playground
      </Link>
      <Rerun execution={execution} />
    </>
  );
}

function Cancel({ execution }: { execution: Execution }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const id = execution.executionId;
  const cancel = useMutation({
    mutationFn: () => post(`/v1/executions/${encodeURIComponent(id)}/cancel`),
    onSuccess: () => setAsking(false),
    onError: tellProblem,
    onSettled: () => client.invalidateQueries({ queryKey: ["execution", id] }),
  });
  const heads = (execution.heads ?? []) as CallHead[];
  const sent = heads.filter((one) => one.state === "started" && one.kind === "tool" && one.effect !== "read").length;
  return (
    <>
      <Button look="danger" onClick={() => setAsking(true)}>
        Cancel…
      </Button>
      <Dialog open={asking} onClose={() => setAsking(false)} title="Cancel this execution?">
        <p className="text-sm">It ends immediately and can't be continued. Its pending approvals are withdrawn.</p>
        {sent > 0 && (
          <p className="mt-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
            {sent === 1 ? "One write was" : `${sent} writes were`} sent and not answered yet. It may still take effect.
          </p>
        )}
        <Foot text={command("executions", "cancel", id)}>
          <Button onClick={() => setAsking(false)}>Leave it running</Button>
          <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel the execution
          </Button>
        </Foot>
      </Dialog>
    </>
  );
}

/** The same code as a new execution. One that wrote something may do so again, so it needs a confirmation. */
function Rerun({ execution }: { execution: Execution }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const heads = (execution.heads ?? []) as CallHead[];
  const writes = heads.filter((one) => one.kind === "tool" && one.effect !== "read").length;
  const { code, language, runtime } = execution;
  const run = useMutation({
    mutationFn: () => post("/v1/executions", { code: code ?? "", language, runtime, wait: 0 }),
    onSuccess: (made) => {
      setAsking(false);
      tell("A new execution has started");
      void navigate({ to: "/executions/$id", params: { id: made.executionId } });
    },
    onError: tellProblem,
  });
  return (
    <>
      <Button
        look={FINAL.includes(execution.status) ? "primary" : "plain"}
        busy={run.isPending}
        onClick={() => (writes > 0 ? setAsking(true) : run.mutate())}
      >
        Run again
      </Button>
      <Dialog open={asking} onClose={() => setAsking(false)} title="Run it again?">
        <p className="text-sm">
          It made {writes === 1 ? "one call that writes" : `${writes} calls that write`}. A new execution may make{" "}
          {writes === 1 ? "it" : "them"} again, as your policies allow.
        </p>
        <Foot>
          <Button onClick={() => setAsking(false)}>Don't</Button>
          <Button look="primary" busy={run.isPending} onClick={() => run.mutate()}>
            Run it again
          </Button>
        </Foot>
      </Dialog>
    </>
  );
}

function Foot({ text, children }: { text?: string; children: ReactNode }) {
  return (
    <div className="mt-4 space-y-3">
      {text && <Command text={text} />}
      <div className="flex flex-wrap justify-end gap-2">{children}</div>
    </div>
  );
}
