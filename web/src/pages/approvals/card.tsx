import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { get, query } from "@/api/client";
import { interaction } from "@/api/queries";
import type { Execution, Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge } from "@/ui/badge";
import { Path } from "@/ui/path";
import { Loaded } from "@/ui/states";
import { Arguments } from "./arguments";
import { Changed } from "./changed";
import { Context } from "./context";
import { Decide } from "./decide";
import { Edits } from "./edits";
import { ServerRequest } from "./elicitation";
import { useFolding } from "./folding";
import { gist } from "./gist";
import { KINDS, outcomeOf } from "./list";
import { Returned, Settlement } from "./settlement";
import { Excerpt } from "./story";

type Props = { id: string; known?: Interaction; run?: Execution; returned?: boolean };

/** A request where it came up: everything a decision is about, the decision, and then what came of it.
 *
 * `known` is what a list has of it, `run` its execution where that is at hand. Where the page itself shows what came of
 * it, it need not be `returned` here too.
 */
export function ApprovalCard({ id, known, run, returned = true }: Props) {
  const asked = useQuery({
    ...interaction(id),
    initialData: known,
    initialDataUpdatedAt: known?.argumentsCut ? 0 : undefined,
  });
  return (
    <Loaded asked={asked} rows={4}>
      {(found) => <Card asked={found} run={run} returned={returned} />}
    </Loaded>
  );
}

type CardProps = { asked: Interaction; run: Execution | undefined; returned: boolean };

function Card({ asked, run, returned }: CardProps) {
  const pending = asked.status === "pending";
  return (
    <article
      aria-label={`Request: ${visible(asked.tool)}`}
      className={`card min-w-0 ${pending ? "border-warn/60" : ""}`}
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1 border-line border-b px-4 py-2.5">
        {pending && <p className="basis-full text-sm text-warn">{visible(asked.question ?? "Allow this call?")}</p>}
        <h2 className="min-w-0 break-words font-mono font-semibold text-sm">
          <Path path={asked.tool} />
        </h2>
        <EffectBadge effect={asked.effect} />
        {KINDS[asked.kind] && <Badge tone="accent">{KINDS[asked.kind]}</Badge>}
        {!pending && <Outcome asked={asked} />}
        <Link
          to="/approvals/$id"
          params={{ id: asked.id }}
          className="ml-auto whitespace-nowrap text-accent text-xs underline"
        >
          Open the full request
        </Link>
      </header>
      {pending ? <Pending asked={asked} run={run} /> : <Ended asked={asked} returned={returned} />}
    </article>
  );
}

export function Outcome({ asked }: { asked: { kind: string; status: string } }) {
  const [tone, text] = outcomeOf(asked);
  return <Badge tone={tone}>{text}</Badge>;
}

function Pending({ asked, run }: { asked: Interaction; run: Execution | undefined }) {
  const { folded, unseen, unfold } = useFolding(useMemo(() => [asked], [asked]));
  return (
    <>
      <div className="space-y-4 px-4 py-3">
        <ServerRequest asked={asked} />
        <Arguments asked={asked} folded={folded} onUnfold={unfold} />
        <Changed asked={asked} />
        <Context asked={asked} brief />
        <Edits asked={asked} />
        {asked.executionId && <CodeLine asked={asked} id={asked.executionId} run={run} />}
      </div>
      {!asked.elicitation && (
        <footer className="border-line border-t px-4 py-3">
          <Decide asked={asked} folded={unseen} />
        </footer>
      )}
    </>
  );
}

function Ended({ asked, returned }: { asked: Interaction; returned: boolean }) {
  return (
    <div className="space-y-2 px-4 py-3">
      <p className="truncate font-mono text-dim text-xs">{gist(asked)}</p>
      <Settlement asked={asked} />
      {returned && <Returned asked={asked} />}
    </div>
  );
}

/** The code never changes, so it is read once. */
function CodeLine({ asked, id, run }: { asked: Interaction; id: string; run: Execution | undefined }) {
  const found = useQuery({
    queryKey: ["code", id],
    queryFn: ({ signal }) =>
      get(`/v1/executions/${encodeURIComponent(id)}${query({ include: "code", result: "preview" })}`, signal),
    initialData: run?.code == null ? undefined : run,
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  if (!found) return null;
  return (
    <section aria-label="The calling code">
      <h3 className="mb-1.5 font-medium text-sm">The calling code</h3>
      <Excerpt code={found.code ?? ""} language={found.language} tool={asked.tool} around={1} label="Line of code" />
    </section>
  );
}
