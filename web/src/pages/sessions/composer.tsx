import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { post, remove } from "@/api/client";
import type { SessionDetails, SessionTask } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextArea, Tick } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { tellProblem } from "@/ui/toast";
import { path, shown } from "./queries";

const BUSY = ["running", "waiting"];

/** Prompts, one after the other: while a task runs, the next ones wait below it. */
export function Composer({ session }: { session: SessionDetails }) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [interrupt, setInterrupt] = useState(false);
  const renew = () => client.invalidateQueries({ queryKey: shown(session.id).queryKey });
  const send = useMutation({
    mutationFn: () => post(`${path(session.id)}/prompt`, { prompt: text, interrupt }),
    onSuccess: () => {
      setText("");
      setInterrupt(false);
    },
    onSettled: renew,
  });
  const cancel = useMutation({
    mutationFn: (task: SessionTask) => remove(`${path(session.id)}/tasks/${encodeURIComponent(task.id)}`),
    onError: tellProblem,
    onSettled: renew,
  });
  const running = session.tasks.find((one) => BUSY.includes(one.status));
  const queued = session.tasks.filter((one) => one.status === "queued");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) send.mutate();
  };
  if (session.status === "stopped")
    return <p className="mt-4 text-dim text-sm">The session is stopped. Resume it to send another prompt.</p>;
  return (
    <form onSubmit={submit} className="mt-4 space-y-2">
      {queued.length > 0 && (
        <ul aria-label="Queued prompts" className="space-y-1">
          {queued.map((task) => (
            <li key={task.id} className="flex items-center gap-2 rounded-lg bg-raised px-3 py-1 text-sm">
              <span className="text-dim text-xs">next</span>
              <span className="min-w-0 flex-1 truncate">{visible(task.prompt)}</span>
              <Button size="small" look="ghost" onClick={() => cancel.mutate(task)}>
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      <TextArea
        label="Prompt"
        hideLabel
        rows={3}
        placeholder={running ? "Queue another prompt…" : "What should the agent do?"}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
        }}
      />
      {send.error ? <Trouble error={send.error} /> : null}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" look="primary" busy={send.isPending} disabled={!text.trim()}>
          {running && !interrupt ? "Queue" : "Send"}
        </Button>
        {running && (
          <>
            <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate(running)}>
              Stop the task
            </Button>
            <Tick
              label="Interrupt what is running"
              checked={interrupt}
              onChange={(event) => setInterrupt(event.target.checked)}
            />
          </>
        )}
      </div>
    </form>
  );
}
