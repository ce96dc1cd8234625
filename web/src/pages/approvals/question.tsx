import { Link } from "@tanstack/react-router";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge, type Tone } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Identifier } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { Ago } from "@/ui/time";
import { Tree } from "@/ui/tree";
import { Decide } from "./decide";

const OUTCOMES: Record<string, Tone> = { approved: "ok", denied: "bad", expired: "quiet", cancelled: "quiet" };

/** Everything that a decision is about. All of it comes from the server's own data, none from the code that asks. */
export function Question({ asked, next }: { asked: Interaction; next: Interaction | undefined }) {
  const pending = asked.status === "pending";
  return (
    <article aria-label="The question" className="card min-w-0">
      <header className="border-line border-b px-5 py-4">
        <p className="text-dim text-sm">{visible(asked.question ?? "May this call be made?")}</p>
        <h2 className="mt-1 break-words font-mono font-semibold text-lg">{visible(asked.tool)}</h2>
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <EffectBadge effect={asked.effect} />
          {asked.kind !== "approval" && <Badge tone="accent">{asked.kind.replace("_", " ")}</Badge>}
          {!pending && <Badge tone={OUTCOMES[asked.status]}>{asked.status}</Badge>}
        </div>
      </header>
      <div className="space-y-5 px-5 py-4">
        <Context asked={asked} />
        <section aria-label="Arguments">
          <h3 className="mb-1.5 font-medium text-sm">Arguments</h3>
          <Tree value={asked.arguments} label="arguments" />
          {asked.argumentsCut && (
            <p role="alert" className="mt-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
              Not everything is shown: {visible(asked.argumentsCut)} were cut.
            </p>
          )}
        </section>
      </div>
      <footer className="border-line border-t bg-raised/40 px-5 py-4">
        {pending ? <Answer asked={asked} next={next} /> : <Settled asked={asked} next={next} />}
      </footer>
    </article>
  );
}

function Answer({ asked, next }: { asked: Interaction; next: Interaction | undefined }) {
  if (asked.kind === "approval" || asked.kind === "unknown_outcome") return <Decide asked={asked} next={next} />;
  return (
    <Link to="/connect/$id" params={{ id: asked.id }} className={looks("primary")}>
      {asked.kind === "oauth" ? "Sign in at the service" : "Give the credential"}
    </Link>
  );
}

function Context({ asked }: { asked: Interaction }) {
  const credential = asked.connection ?? (asked.credential ? "missing: it is asked for first" : "none");
  return (
    <Facts
      facts={[
        ["Who asks", <WhoAsks key="who" asked={asked} />],
        ["Sent to", visible(asked.host || "Executor itself")],
        ["Source", visible(asked.source ?? "")],
        ["Credential", visible(credential)],
        ["What it does", visible(asked.description ?? "")],
        ["Why asked", visible(asked.reason)],
        ["Asked", <Ago key="asked" at={asked.createdAt} />],
        ["Expires", asked.status === "pending" ? <Ago key="expires" at={asked.expiresAt} /> : ""],
        ["Execution", <ExecutionLink key="execution" id={asked.executionId} />],
        ["Question", <Identifier key="id" id={asked.id} />],
      ]}
    />
  );
}

function WhoAsks({ asked }: { asked: Interaction }) {
  return (
    <>
      {visible(asked.actor ?? "unknown")} <code className="font-mono text-dim text-xs">{asked.actorId}</code>
    </>
  );
}

function ExecutionLink({ id }: { id: string }) {
  return (
    <Link to="/executions/$id" params={{ id }} className="font-mono text-accent text-xs underline">
      {id}
    </Link>
  );
}

function Settled({ asked, next }: { asked: Interaction; next: Interaction | undefined }) {
  const who = asked.settledByName ?? asked.settledBy;
  return (
    <div className="flex flex-wrap items-center gap-3 text-sm">
      <p role="status">
        This was <b>{asked.status}</b>
        {asked.scope &&
          asked.scope !== "once" &&
          ` (${asked.scope === "always" ? "always, by a new rule" : "for this execution"})`}
        {who && ` by ${visible(who)}`} <Ago at={asked.settledAt} />
        {asked.decisionReason && <>: “{visible(asked.decisionReason)}”</>}
      </p>
      {next && (
        <Link to="/approvals/$id" params={{ id: next.id }} className={`${looks("plain", "small")} ml-auto`}>
          Next question
        </Link>
      )}
    </div>
  );
}
