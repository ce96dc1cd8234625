import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Path } from "@/ui/path";
import { Arguments } from "./arguments";
import { Outcome } from "./card";
import { Changed } from "./changed";
import { Context } from "./context";
import { Decide } from "./decide";
import { Edits } from "./edits";
import { ServerRequest } from "./elicitation";
import { useFolding } from "./folding";
import { KINDS } from "./list";
import { useNext } from "./next";
import type { Wanted } from "./queries";
import { Returned, Settlement } from "./settlement";
import { Story } from "./story";

type Props = { asked: Interaction; items: Interaction[]; wanted: Wanted };

/** Everything that a decision is about. All of it comes from the server's own data, none from the code that asks. */
export function ApprovalDetail({ asked, items, wanted }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const next = useNext(asked.id, items);
  const pending = asked.status === "pending";
  const { folded, unseen, unfold } = useFolding(useMemo(() => [asked], [asked]));
  // Where a screen reader begins, and where no key decides anything.
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <article aria-label="The request" className="card min-w-0">
      <header className="border-line border-b px-4 py-4 sm:px-5">
        {pending && <p className="text-dim text-sm">{visible(asked.question ?? "Allow this call?")}</p>}
        <h2 ref={heading} tabIndex={-1} className="mt-1 break-words font-mono font-semibold text-lg outline-none">
          <Path path={asked.tool} />
        </h2>
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <EffectBadge effect={asked.effect} />
          {KINDS[asked.kind] && <Badge tone="accent">{KINDS[asked.kind]}</Badge>}
          {!pending && <Outcome asked={asked} />}
        </div>
      </header>
      <div className="space-y-5 px-4 py-4 sm:px-5">
        {!pending && <Returned asked={asked} />}
        <ServerRequest asked={asked} inbox={{ next, wanted }} />
        <Arguments asked={asked} folded={folded} onUnfold={unfold} compared />
        <Changed asked={asked} />
        <Edits asked={asked} />
        <Context asked={asked} />
        <Story asked={asked} />
      </div>
      {!(pending && asked.elicitation) && (
        <footer className="sticky bottom-[calc(3.25rem+env(safe-area-inset-bottom))] z-10 rounded-b-xl border-line border-t bg-surface px-4 py-3 sm:px-5 has-[[data-tall]]:static md:bottom-0">
          {pending ? (
            <Decide asked={asked} folded={unseen} inbox={{ next, wanted }} />
          ) : (
            <Settled {...{ asked, next, wanted }} />
          )}
        </footer>
      )}
    </article>
  );
}

function Settled({ asked, next, wanted }: { asked: Interaction; next: Interaction | undefined; wanted: Wanted }) {
  return (
    <div className="flex flex-wrap items-center gap-3 text-sm">
      <Settlement asked={asked} />
      {next && (
        <Link
          to="/approvals/$id"
          params={{ id: next.id }}
          search={wanted}
          className={`${looks("plain", "small")} ml-auto`}
        >
          Next request
        </Link>
      )}
    </div>
  );
}
