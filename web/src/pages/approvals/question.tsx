import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Path } from "@/ui/path";
import { Ago } from "@/ui/time";
import { Arguments } from "./arguments";
import { Changed } from "./changed";
import { Context } from "./context";
import { Decide } from "./decide";
import { isLong } from "./folding";
import { KINDS, OUTCOMES } from "./list";
import { useNext } from "./next";
import type { Wanted } from "./queries";
import { Story } from "./story";

type Props = { asked: Interaction; items: Interaction[]; wanted: Wanted };

/** Everything that a decision is about. All of it comes from the server's own data, none from the code that asks. */
export function Question({ asked, items, wanted }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const next = useNext(asked.id, items);
  const pending = asked.status === "pending";
  const [unfolded, setUnfolded] = useState(false);
  const long = useMemo(() => isLong(asked.arguments), [asked.arguments]);
  const folded = long && !unfolded;
  // Where whoever listens to the page begins, and where no key decides anything.
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, []);
  const [tone, text] = OUTCOMES[asked.status] ?? ["quiet", asked.status];
  return (
    <article aria-label="The question" className="card min-w-0">
      <header className="border-line border-b px-4 py-4 sm:px-5">
        <p className="text-dim text-sm">{visible(asked.question ?? "May this call be made?")}</p>
        <h2 ref={heading} tabIndex={-1} className="mt-1 break-words font-mono font-semibold text-lg outline-none">
          <Path path={asked.tool} />
        </h2>
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <EffectBadge effect={asked.effect} />
          {KINDS[asked.kind] && <Badge tone="accent">{KINDS[asked.kind]}</Badge>}
          {!pending && <Badge tone={tone}>{text}</Badge>}
        </div>
      </header>
      <div className="space-y-5 px-4 py-4 sm:px-5">
        <Arguments asked={asked} folded={folded} onUnfold={() => setUnfolded(true)} />
        <Changed asked={asked} />
        <Context asked={asked} />
        <Story asked={asked} />
      </div>
      <footer className="sticky bottom-[calc(3.25rem+env(safe-area-inset-bottom))] z-10 rounded-b-xl border-line border-t bg-surface px-4 py-3 sm:px-5 has-[[data-tall]]:static md:bottom-0">
        {pending ? (
          <Decide asked={asked} next={next} wanted={wanted} folded={folded || Boolean(asked.argumentsCut)} />
        ) : (
          <Settled asked={asked} next={next} wanted={wanted} />
        )}
      </footer>
    </article>
  );
}

const SAID: Record<string, string> = {
  approved: "approved",
  denied: "denied",
  expired: "not decided in time, so it expired; the code got an error",
  cancelled: "cancelled with its execution",
  superseded: "asked again, since something had changed after it was shown",
};

function Settled({ asked, next, wanted }: { asked: Interaction; next: Interaction | undefined; wanted: Wanted }) {
  const who = asked.settledByName ?? asked.settledBy;
  const scope = asked.scope === "always" ? " (always, by a new rule)" : " (for this execution)";
  return (
    <div className="flex flex-wrap items-center gap-3 text-sm">
      <p role="status" className="min-w-0 break-words">
        This was <b>{SAID[asked.status] ?? asked.status}</b>
        {asked.scope && asked.scope !== "once" && scope}
        {who && ` by ${visible(who)}`} <Ago at={asked.settledAt} />
        {asked.decisionReason && <>: “{visible(asked.decisionReason)}”</>}
        {(asked.status === "approved" || asked.status === "denied") && (
          <span className="block text-dim text-xs">A decision can't be taken back.</span>
        )}
      </p>
      {next && (
        <Link
          to="/approvals/$id"
          params={{ id: next.id }}
          search={wanted}
          className={`${looks("plain", "small")} ml-auto`}
        >
          Next question
        </Link>
      )}
    </div>
  );
}
