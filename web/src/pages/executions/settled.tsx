import { Link } from "@tanstack/react-router";
import { visible } from "@/text/visible";
import { Ago } from "@/ui/time";
import type { Decided } from "./queries";

const SCOPES: Record<string, string> = {
  once: "once",
  execution: "for this execution",
  always: "always, by a policy",
};
const ENDED: Record<string, string> = {
  expired: "No one decided in time",
  cancelled: "Withdrawn, because the execution ended",
  superseded: "Something changed, so a new request replaced it",
};

export const needsCredential = (one: Decided) => one.kind === "credential" || one.kind === "oauth";

/** What was asked of a human about a call, and what came of it. */
export function Settled({ decided }: { decided: Decided }) {
  const { status, settledByName, settledBy, settledAt, scope, decisionReason } = decided;
  const who = visible(settledByName ?? settledBy ?? "someone");
  return (
    <span className="break-words">
      {status === "pending" ? (
        <strong className="font-medium text-warn">Waiting for a decision</strong>
      ) : status === "approved" ? (
        <>
          {needsCredential(decided) ? "Credential provided" : "Allowed"} by {who}
          {scope && !needsCredential(decided) && ` ${SCOPES[scope] ?? scope}`}
        </>
      ) : status === "denied" ? (
        <>Denied by {who}</>
      ) : (
        (ENDED[status] ?? status)
      )}
      {decisionReason && <>: “{visible(decisionReason)}”</>}
      {settledAt && (
        <>
          {" "}
          <Ago at={settledAt} />
        </>
      )}{" "}
      <Link
        to={needsCredential(decided) ? "/connect/$id" : "/approvals/$id"}
        params={{ id: decided.id }}
        className="text-accent underline"
      >
        {status === "pending" ? "Review" : "the request"}
      </Link>
    </span>
  );
}
