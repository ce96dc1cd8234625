import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { post } from "@/api/client";
import { useVisitor, whoami } from "@/api/queries";
import type { Interaction } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { visible } from "@/text/visible";
import { looks } from "@/ui/button";
import { Tick } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { Allow, type Panel } from "./allow";
import type { Answer } from "./answer";
import { useCalm } from "./calm";
import { useExpired } from "./context";
import { DenyForm } from "./deny";
import { useGoingOn } from "./next";
import type { Wanted } from "./queries";

/** Where the inbox continues after a decision. Without it the request is a card among other things: no key decides it. */
export type Inbox = { next: Interaction | undefined; wanted: Wanted };
type Props = { asked: Interaction; folded: boolean; inbox?: Inbox };

/** `folded`: some of the arguments were never in view, so that nothing can be allowed. */
export function Decide({ asked, folded, inbox }: Props) {
  return <Settler asked={asked}>{(mayAddPolicy) => <Deciding {...{ asked, folded, inbox, mayAddPolicy }} />}</Settler>;
}

const SEPARATED = "separation_of_duties";

/** The way to decide for those who may; for everybody else, why they may not. */
export function Settler({ asked, children }: { asked: Interaction; children: (mayAddPolicy: boolean) => ReactNode }) {
  const may = useQuery(whoami).data?.permissions ?? [];
  const visitor = useVisitor();
  const expired = useExpired(asked.expiresAt);
  if (expired) return <p role="status">This request has expired.</p>;
  if (!may.includes("decide")) {
    return <p className="text-dim text-sm">You can see this request, but your role can't decide it. Ask a member.</p>;
  }
  if (!asked.refusal && !asked.outdated) return children(may.includes("administer"));
  if (!asked.refusal) {
    return (
      <div className="space-y-3">
        <p role="status" className="text-sm">
          <b>If you allow this, a new request replaces it.</b>{" "}
          <span className="text-dim">Reason: {visible(asked.outdated ?? "")}.</span>
        </p>
        {children(may.includes("administer"))}
      </div>
    );
  }
  return (
    <div className="space-y-3">
      <WaitsFor asked={asked} refusal={asked.refusal} alone={visitor} />
      {(visitor || asked.refusal.code === SEPARATED) && children(may.includes("administer"))}
    </div>
  );
}

type Waiting = { asked: Interaction; refusal: NonNullable<Interaction["refusal"]>; alone: boolean };

/** Someone else has to settle it: who, and why. In an anonymous workspace there is no one else. */
function WaitsFor({ asked, refusal, alone }: Waiting) {
  const separated = refusal.code === SEPARATED;
  const waits = separated ? "Waiting for another person." : `Waiting for ${asked.waitsFor}.`;
  return (
    <p role="status" className="text-sm">
      <b>{alone ? "This can't be allowed in an anonymous workspace." : waits}</b>{" "}
      <span className="text-dim">
        {visible(refusal.message)}. {visible(refusal.hint)}.
      </span>
    </p>
  );
}

function Deciding({ asked, folded, inbox, mayAddPolicy }: Props & { mayAddPolicy: boolean }) {
  const [panel, setPanel] = useState<Panel>("");
  const [armed, setArmed] = useState(false);
  const [goesOn, setGoesOn] = useGoingOn();
  const navigate = useNavigate();
  const settle = useSettling(asked, (settled) => {
    if (!goesOn || !inbox?.next) return;
    tell(settled.status === "approved" ? "Allowed" : "Denied");
    void navigate({ to: "/approvals/$id", params: { id: inbox.next.id }, search: inbox.wanted });
  });
  const calm = useCalm();
  const blocked = !calm || settle.isPending || settle.isSuccess;
  const refused = Boolean(asked.refusal);
  const gives = asked.kind === "credential" || asked.kind === "oauth";
  // What is being sent is known at once; what is shown follows a moment later, and a second click may come between.
  const sent = useRef(false);
  const answer = (given: Answer) => {
    if (blocked || sent.current || (folded && given.act === "approve")) return;
    sent.current = true;
    settle.mutate(given, {
      onError: () => {
        sent.current = false;
      },
    });
  };
  const leave = () => (armed ? setArmed(false) : void navigate({ to: "/approvals", search: inbox?.wanted }));
  useHotkeys({ Escape: leave }, Boolean(inbox));
  useHotkeys(
    {
      a: () => !gives && !refused && !folded && setArmed(true),
      y: () => armed && answer({ act: "approve", scope: "once" }),
      n: () => setArmed(false),
      d: () => setPanel("deny"),
    },
    Boolean(inbox) && !blocked,
  );
  return (
    <div className="space-y-3">
      {settle.error ? <Trouble error={settle.error} /> : null}
      {panel === "deny" ? (
        <DenyForm blocked={blocked} onDeny={(reason) => answer({ act: "deny", reason })} onLeave={() => setPanel("")} />
      ) : gives ? (
        <Give asked={asked} blocked={blocked} onDeny={() => setPanel("deny")} />
      ) : (
        <Allow
          {...{ asked, blocked, folded, refused, mayAddPolicy, panel, armed }}
          brief={!inbox}
          onPanel={setPanel}
          onAnswer={answer}
        />
      )}
      {inbox?.next && panel === "" && (
        <Tick checked={goesOn} onChange={(event) => setGoesOn(event.target.checked)} label="Then open the next one" />
      )}
    </div>
  );
}

/** One decision, sent once. Someone else may have been faster: then the request is shown as it is now. */
function useSettling(asked: Interaction, done: (settled: Interaction) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ act, ...body }: Answer) => post(`/v1/interactions/${asked.id}/${act}`, body),
    onSuccess: (settled) => {
      client.setQueryData(["interaction", asked.id], { ...asked, ...settled });
      client.invalidateQueries({ queryKey: ["interactions"] });
      client.invalidateQueries({ queryKey: ["execution", asked.executionId] });
      done(settled);
    },
    onError: () => client.invalidateQueries({ queryKey: ["interactions"] }),
    onSettled: () => client.invalidateQueries({ queryKey: ["interaction", asked.id] }),
  });
}

function Give({ asked, blocked, onDeny }: { asked: Interaction; blocked: boolean; onDeny: () => void }) {
  return (
    <div className="flex flex-wrap gap-2">
      <Link to="/connect/$id" params={{ id: asked.id }} className={looks("primary")}>
        {asked.kind === "oauth" ? "Sign in at the service" : "Enter the credential"}
      </Link>
      <button type="button" className={looks("danger")} disabled={blocked} onClick={onDeny}>
        Deny…
      </button>
    </div>
  );
}
