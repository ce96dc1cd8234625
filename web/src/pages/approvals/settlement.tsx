import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { whoami } from "@/api/queries";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Skeleton } from "@/ui/states";
import { Ago } from "@/ui/time";

const AllowedCall = lazy(() => import("../executions/answer"));

const SAID: Record<string, string> = {
  expired: "No one decided in time, so it expired. The code got an error",
  cancelled: "It was cancelled with its execution",
  superseded: "A new request replaced it, because something changed after it was shown",
};
const SCOPES: Record<string, string> = {
  execution: " for this execution",
  session: " for this session",
  always: " always, by a new policy",
};

/** How a request ended, and by whom. */
export function Settlement({ asked }: { asked: Interaction }) {
  const me = useQuery(whoami).data?.actorId;
  const who = asked.settledBy === me ? "you" : visible(asked.settledByName ?? asked.settledBy ?? "someone");
  const given = asked.kind === "credential" || asked.kind === "oauth";
  const input = asked.kind === "elicitation";
  const denied = input ? "Declined" : "Denied";
  const verb = asked.status === "denied" ? denied : given ? "Provided" : input ? "Answered" : "Allowed";
  return (
    <p role="status" className="min-w-0 break-words text-sm">
      {(input ? withdrawal(asked) : SAID[asked.status]) ?? (
        <>
          <b>{verb}</b>
          {` by ${who}${SCOPES[asked.scope ?? ""] ?? ""}`}
        </>
      )}{" "}
      {asked.settledAt && <Ago at={asked.settledAt} />}
      {asked.decisionReason && <>: “{visible(asked.decisionReason)}”</>}
    </p>
  );
}

/** How a request for input ended without an answer. */
function withdrawal(asked: Interaction): string | undefined {
  if (asked.status === "expired") return "No one answered in time, so it expired. The server got no answer";
  if (asked.status !== "cancelled") return undefined;
  return asked.settledBy ? "It was dismissed without an answer" : "It was withdrawn without an answer";
}

/** What the call returned; of one that was not allowed, nothing. */
export function Returned({ asked }: { asked: Interaction }) {
  if (asked.status !== "approved" || !asked.executionId) return null;
  return (
    <Suspense fallback={<Skeleton rows={1} />}>
      <AllowedCall asked={asked} />
    </Suspense>
  );
}
