import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight, Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { remove } from "@/api/client";
import type { Artifact, Execution } from "@/api/types";
import { command } from "@/text/code";
import { size } from "@/text/size";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command, Identifier } from "@/ui/copy";
import { Empty, Loaded } from "@/ui/states";
import { tell, tellProblem } from "@/ui/toast";
import { Preview } from "./artifact";
import { artifactsOf, save } from "./kept";

/** The tab of an execution's artifacts. */
export const artifactsTab = (execution: Execution) => ({
  id: "artifacts",
  title: <Title execution={execution} />,
  content: <Artifacts execution={execution} />,
});

function Title({ execution }: { execution: Execution }) {
  const asked = useQuery(artifactsOf(execution.executionId));
  return <>Artifacts{asked.data ? ` (${asked.data.items.length})` : ""}</>;
}

function Artifacts({ execution }: { execution: Execution }) {
  const asked = useQuery(artifactsOf(execution.executionId));
  return (
    <Loaded asked={asked} rows={2}>
      {(page) => (page.items.length ? <List items={page.items} /> : <Nothing />)}
    </Loaded>
  );
}

function Nothing() {
  return (
    <Empty title="No artifacts">
      Results that are too large for an agent's context are stored here in full, and so are images and other files. The
      agent gets a preview and a handle.
    </Empty>
  );
}

function List({ items }: { items: Artifact[] }) {
  return (
    <ul className="divide-y divide-line">
      {items.map((one) => (
        <Row key={one.id} kept={one} only={items.length === 1} />
      ))}
    </ul>
  );
}

function Row({ kept, only }: { kept: Artifact; only: boolean }) {
  const [open, setOpen] = useState(only);
  return (
    <li>
      <details className="group" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="flex w-full flex-wrap items-center gap-2 py-2 text-sm">
          <ChevronRight size={14} aria-hidden="true" className="shrink-0 text-dim group-open:rotate-90" />
          <code className="min-w-0 break-words font-mono text-xs">{visible(kept.name)}</code>
          <Badge>{visible(kept.mediaType)}</Badge>
          <span className="text-dim text-xs">{place(kept)}</span>
          <span className="ml-auto text-dim text-xs tabular-nums">{size(kept.size)}</span>
        </summary>
        {open && (
          <div className="min-w-0 space-y-3 pb-3">
            <Preview kept={kept} />
            <Acts kept={kept} />
          </div>
        )}
      </details>
    </li>
  );
}

function place(kept: Artifact): string {
  const file = kept.mediaType !== "application/json" && kept.mediaType !== "text/plain";
  if (kept.call === null) return file ? "a file in the result" : "the result";
  return file ? `a file in the result of call ${kept.call}` : `the result of call ${kept.call}`;
}

function Acts({ kept }: { kept: Artifact }) {
  const saving = useMutation({ mutationFn: () => save(kept), onError: tellProblem });
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-2">
        <Button size="small" busy={saving.isPending} onClick={() => saving.mutate()}>
          <Download size={14} aria-hidden="true" />
          Download
        </Button>
        <Delete kept={kept} />
        <Identifier id={kept.id} />
      </div>
      <Command text={command("artifacts", "get", kept.id, "-o", kept.name)} />
    </div>
  );
}

/** The second press deletes: there is no way back. */
function Delete({ kept }: { kept: Artifact }) {
  const client = useQueryClient();
  const [sure, setSure] = useState(false);
  const deleting = useMutation({
    mutationFn: () => remove(`/v1/artifacts/${encodeURIComponent(kept.id)}`),
    onSuccess: () => {
      tell(`Deleted ${visible(kept.name)}`);
      return client.invalidateQueries({ queryKey: ["execution", kept.executionId] });
    },
    onError: tellProblem,
  });
  return (
    <Button
      size="small"
      look={sure ? "danger" : "plain"}
      busy={deleting.isPending}
      onBlur={() => setSure(false)}
      onClick={() => (sure ? deleting.mutate() : setSure(true))}
    >
      <Trash2 size={14} aria-hidden="true" />
      {sure ? "Delete for good" : "Delete"}
    </Button>
  );
}

/** Beside a result that is only a preview: how large the whole is, and where. */
export function Kept({ kept }: { kept: Artifact | null | undefined }) {
  if (!kept) return null;
  if (kept.deletedAt) return <p className="mb-1.5 text-dim text-sm">The result was stored and has been deleted.</p>;
  const first = kept.cut[0];
  return (
    <p className="mb-1.5 flex flex-wrap items-center gap-x-2 text-sm">
      <Badge tone="accent">preview</Badge>
      <span className="text-dim">
        {first && first.at === "" && `${first.shown} of ${first.total.toLocaleString("en")} ${first.what}. `}
        The whole result has {size(kept.size)}.
      </span>
      <Link
        to="/executions/$id"
        params={{ id: kept.executionId }}
        search={{ tab: "artifacts" }}
        className="text-accent underline"
      >
        Open the artifact
      </Link>
    </p>
  );
}
