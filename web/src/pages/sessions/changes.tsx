import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { SessionDetails } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm";
import { TextField } from "@/ui/field";
import { Empty, Loaded, Trouble } from "@/ui/states";
import { tell, tellProblem } from "@/ui/toast";
import { DiffLines } from "./difflines";
import { splitDiff } from "./edit";
import { changed, path } from "./queries";

/** What the session has changed in its clone. What will execute is marked: someone runs it outside the sandbox. */
export function Changes({ session }: { session: SessionDetails }) {
  const asked = useQuery(changed(session.id));
  return (
    <Loaded asked={asked} rows={5}>
      {({ files, diff, cut, base, branch }) =>
        files.length === 0 ? (
          <Empty title="No changes">
            The branch {visible(branch)} is as its base {visible(base.slice(0, 12))}.
          </Empty>
        ) : (
          <div className="space-y-4">
            <ul aria-label="Changed files" className="divide-y divide-line">
              {files.map((one) => (
                <li key={one.path} className="flex flex-wrap items-center gap-2 py-1.5 text-sm">
                  <span className="w-16 text-dim text-xs">{one.status}</span>
                  <code className="min-w-0 break-all font-mono text-xs">{visible(one.path)}</code>
                  {one.runs && <Badge tone="warn">⚠ {visible(one.runs)}</Badge>}
                  <span className="ml-auto text-xs tabular-nums">
                    <span className="text-ok">+{one.added ?? "?"}</span>{" "}
                    <span className="text-bad">−{one.removed ?? "?"}</span>
                  </span>
                </li>
              ))}
            </ul>
            <Commit session={session} />
            {splitDiff(diff).map((part) => (
              <div key={part.path} className="min-w-0">
                <h3 className="mb-1 break-all font-mono text-dim text-xs">{visible(part.path)}</h3>
                <DiffLines label={`Changes of ${visible(part.path)}`} lines={part.lines} />
              </div>
            ))}
            {cut && <p className="text-dim text-sm">The diff is too long to show all of it.</p>}
          </div>
        )
      }
    </Loaded>
  );
}

function Commit({ session }: { session: SessionDetails }) {
  const client = useQueryClient();
  const [message, setMessage] = useState("");
  const onSettled = () => client.invalidateQueries({ queryKey: ["agent_sessions"] });
  const commit = useMutation({
    mutationFn: () => post(`${path(session.id)}/commit`, { message }),
    onSuccess: ({ branch }) => {
      setMessage("");
      tell(`Committed to ${branch}`);
    },
    onSettled,
  });
  const discard = useMutation({
    mutationFn: () => post(`${path(session.id)}/discard`),
    onSuccess: ({ snapshot }) =>
      tell(snapshot ? `Discarded. It is kept at ${snapshot}` : "There was nothing to discard"),
    onError: tellProblem,
    onSettled,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    commit.mutate();
  };
  return (
    <form onSubmit={submit} className="space-y-2">
      <div className="flex flex-wrap items-end gap-2">
        <div className="min-w-52 flex-1">
          <TextField label="Commit message" value={message} onChange={(event) => setMessage(event.target.value)} />
        </div>
        <Button type="submit" look="primary" disabled={!message.trim()} busy={commit.isPending}>
          Commit
        </Button>
        <ConfirmButton sure="Really discard?" busy={discard.isPending} onConfirm={() => discard.mutate()}>
          Discard
        </ConfirmButton>
      </div>
      {commit.error ? <Trouble error={commit.error} /> : null}
    </form>
  );
}
