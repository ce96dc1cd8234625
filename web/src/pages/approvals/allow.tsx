import { lazy, Suspense } from "react";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Skeleton } from "@/ui/states";
import type { Answer } from "./answer";

const AlwaysPolicy = lazy(() => import("./always").then((module) => ({ default: module.AlwaysPolicy })));
const AsRead = lazy(() => import("./asread").then((module) => ({ default: module.AsRead })));
const GivenResult = lazy(() => import("./result").then((module) => ({ default: module.GivenResult })));

export type Panel = "" | "deny" | "more" | "always" | "read" | "result";

const UNSEEN = "Show everything first: some of the arguments were not in view.";

type Props = {
  asked: Interaction;
  blocked: boolean;
  folded: boolean;
  refused: boolean;
  mayAddPolicy: boolean;
  panel: Panel;
  armed: boolean;
  brief: boolean;
  onPanel: (panel: Panel) => void;
  onAnswer: (answer: Answer) => void;
};

/** `refused`: someone else has to allow it, but the person who asked may still deny it. A `brief` one allows nothing
 * that goes beyond this call. */
export function Allow(props: Props) {
  const { asked, blocked, folded, refused, mayAddPolicy, panel, armed, brief, onPanel, onAnswer } = props;
  const turn = (wanted: Panel) => onPanel(panel === wanted ? "" : wanted);
  const lost = asked.kind === "unknown_outcome";
  const single = asked.tool.startsWith("executor.") && asked.effect !== "read";
  const unseen = blocked || folded || refused;
  const broader = !lost && !single && !brief;
  const rare = !brief && (panel === "" || panel === "deny") ? "max-md:hidden" : "";
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Button look="danger" disabled={blocked} onClick={() => onPanel("deny")}>
          {lost ? "Return the error to the code…" : "Deny…"}
        </Button>
        <Button
          look="primary"
          className={armed ? "ring-2 ring-accent ring-offset-2 ring-offset-surface" : ""}
          disabled={unseen}
          onClick={() => onAnswer({ act: "approve", scope: "once" })}
        >
          {lost ? "Send it again" : "Allow once"}
        </Button>
        {!single && !brief && (
          <Button
            className="md:hidden"
            aria-expanded={rare === ""}
            disabled={blocked || refused}
            onClick={() => turn("more")}
          >
            More…
          </Button>
        )}
        {lost && (
          <Button className={rare} disabled={blocked || refused} onClick={() => turn("result")}>
            It took effect: enter its result…
          </Button>
        )}
        {broader && <AllowLonger {...{ asked, className: rare, disabled: unseen, onAnswer }} />}
        {broader && mayAddPolicy && (
          <Button className={rare} disabled={unseen} aria-expanded={panel === "always"} onClick={() => turn("always")}>
            Always allow…
          </Button>
        )}
        {broader && mayAddPolicy && asked.suggestion && (
          <Button className={rare} disabled={unseen} aria-expanded={panel === "read"} onClick={() => turn("read")}>
            Treat as read…
          </Button>
        )}
        {broader && asked.suggestion && (
          <p className="basis-full text-dim text-xs">Suggestion: {visible(asked.suggestion)}.</p>
        )}
        <p role="status" className={`basis-full text-xs ${armed ? "font-medium text-accent" : "text-dim"}`}>
          {armed ? "Press y to allow this once, Esc to cancel." : folded ? UNSEEN : <Keys brief={brief} />}
        </p>
      </div>
      <Suspense fallback={<Skeleton rows={3} />}>
        {panel === "always" && <AlwaysPolicy asked={asked} busy={unseen} onSave={onAnswer} />}
        {panel === "read" && <AsRead asked={asked} busy={unseen} onSave={onAnswer} />}
        {panel === "result" && <GivenResult busy={unseen} onGive={(result) => onAnswer({ act: "approve", result })} />}
      </Suspense>
    </>
  );
}

type LongerProps = Pick<Props, "asked" | "onAnswer"> & { className: string; disabled: boolean };

/** Until the execution or the session that asks has ended. */
function AllowLonger({ asked, onAnswer, ...rest }: LongerProps) {
  const scope = asked.sessionId ? "session" : "execution";
  const covered = asked.sessionScope ? visible(asked.sessionScope) : "This tool";
  return (
    <Button
      {...rest}
      onClick={() => onAnswer({ act: "approve", scope })}
      title={`${covered}, until the ${scope} ends, unless the tool changes`}
    >
      Allow for this {scope}
    </Button>
  );
}

function Keys({ brief }: { brief: boolean }) {
  return (
    <>
      {!brief && <span className="hidden md:inline">Keys: a, then y to allow once; d to deny; Esc to cancel. </span>}
      This can't be undone.
    </>
  );
}
