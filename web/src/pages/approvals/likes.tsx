import { Link } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { isNested } from "@/api/json";
import type { Interaction } from "@/api/types";
import { cut } from "@/text/cut";
import { visible } from "@/text/visible";
import { EffectBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Path } from "@/ui/path";
import { Tree } from "@/ui/tree";
import { NotInView } from "./arguments";
import { type Decided, useBatch } from "./batch";
import { useCalm } from "./calm";
import { Outcome } from "./card";
import { Alike, Context } from "./context";
import { Settler } from "./decide";
import { DenyForm } from "./deny";
import { useFolding } from "./folding";
import { differing, fields } from "./gist";
import { Returned } from "./settlement";

const FEW = 10;
const SHORT = 200;

/** Like calls that wait, decided together: what they share is shown once, what differs in each row.
 *
 * `waiting` is what still waits. Rows stay once they were shown, so that none moves under a pointer.
 */
export function LikeCalls({ waiting }: { waiting: Interaction[] }) {
  const kept = useRef(new Map<string, Interaction>());
  for (const one of waiting) kept.current.set(one.id, one);
  const count = kept.current.size;
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are only ever added
  const rows = useMemo(() => [...kept.current.values()], [count]);
  const batch = useBatch();
  const ids = new Set(waiting.map((one) => one.id));
  const open = rows.filter((one) => ids.has(one.id) && !isSettled(batch.decided.get(one.id)));
  const whole = useMemo(() => rows.filter((one) => !one.argumentsCut), [rows]);
  const { folded, unfold } = useFolding(whole);
  const [first] = rows;
  if (!first) return null;
  return (
    <article aria-label={`Requests: ${visible(first.tool)}`} className="card min-w-0 border-warn/60">
      <header className="flex flex-wrap items-center gap-2 border-line border-b px-4 py-2.5">
        <h2 className="min-w-0 break-words font-mono font-semibold text-sm">
          <Path path={first.tool} />
        </h2>
        <span className="text-dim text-sm">× {rows.length}</span>
        <EffectBadge effect={first.effect} />
      </header>
      <div className="space-y-4 px-4 py-3">
        {folded && <NotInView values={whole.map((one) => one.arguments)} onUnfold={unfold} />}
        <Shared rows={whole} />
        <Rows rows={rows} open={new Set(open.map((one) => one.id))} decided={batch.decided} folded={folded} />
        <Together rows={rows} first={first} />
      </div>
      <footer className="border-line border-t px-4 py-3">
        {open.length > 0 && (
          <Settler asked={first}>
            {() => <DecideAll open={open} folded={folded} refused={Boolean(first.refusal)} batch={batch} />}
          </Settler>
        )}
        <Progress decided={batch.decided} sending={batch.sending} open={open.length} />
      </footer>
    </article>
  );
}

/** Everything else is the same in all of them, but for the address where it holds an argument. */
function Together({ rows, first }: { rows: readonly Interaction[]; first: Interaction }) {
  const asked = useMemo(() => ({ ...first, request: sameRequest(rows) }), [rows, first]);
  return (
    <>
      <Context asked={asked} brief />
      <Alike asked={rows} />
    </>
  );
}

/** What was skipped or not sent, and still waits, can be tried again. */
const isSettled = (one: Decided | undefined) => one?.status === "approved" || one?.status === "denied";

function sameRequest(rows: readonly Interaction[]): string | null {
  const [first] = rows;
  return first?.request && rows.every((one) => one.request === first.request) ? first.request : null;
}

function Shared({ rows }: { rows: readonly Interaction[] }) {
  const names = differing(rows);
  const given = rows[0]?.arguments;
  const shared = Object.fromEntries(Object.entries(isNested(given) ? given : {}).filter(([name]) => !names.has(name)));
  if (Object.keys(shared).length === 0) return null;
  return (
    <section aria-label="The same in all">
      <h3 className="mb-1.5 font-medium text-sm">The same in all</h3>
      <Tree value={shared} label="shared arguments" whole />
    </section>
  );
}

type RowsProps = {
  rows: readonly Interaction[];
  open: ReadonlySet<string>;
  decided: ReadonlyMap<string, Decided>;
  folded: boolean;
};

function Rows({ rows, open, decided, folded }: RowsProps) {
  const names = useMemo(() => differing(rows.filter((one) => !one.argumentsCut)), [rows]);
  const requests = sameRequest(rows) === null;
  const shown = folded ? rows.slice(0, FEW) : rows;
  return (
    <section aria-label="Each call">
      <h3 className="mb-1.5 font-medium text-sm">{names.size > 0 ? "What differs" : "Each call"}</h3>
      <ol className="divide-y divide-line rounded-lg border border-line text-xs">
        {shown.map((one, index) => (
          <li key={one.id} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
            <span className="w-6 shrink-0 text-right text-dim tabular-nums">{index + 1}</span>
            <Row one={one} names={names} request={requests} folded={folded} />
            <State waits={open.has(one.id)} decided={decided.get(one.id)} />
            <Link
              to="/approvals/$id"
              params={{ id: one.id }}
              aria-label={`Open request ${index + 1}`}
              className="shrink-0 text-accent underline"
            >
              Open
            </Link>
            {decided.get(one.id)?.status === "approved" && <Result asked={{ ...one, status: "approved" }} />}
          </li>
        ))}
        {shown.length < rows.length && <li className="px-3 py-1.5 text-warn">{rows.length - shown.length} more</li>}
      </ol>
    </section>
  );
}

/** Read only when it is wanted: there may be a hundred of them. */
function Result({ asked }: { asked: Interaction }) {
  const [wanted, setWanted] = useState(false);
  return (
    <div className="min-w-0 basis-full pl-9">
      {wanted ? (
        <Returned asked={asked} />
      ) : (
        <button type="button" className="text-accent underline" onClick={() => setWanted(true)}>
          Show what it returned
        </button>
      )}
    </div>
  );
}

type RowProps = { one: Interaction; names: ReadonlySet<string>; request: boolean; folded: boolean };

function Row({ one, names, request, folded }: RowProps) {
  if (one.argumentsCut)
    return <span className="min-w-0 flex-1 text-warn">Too long to decide here: open the request.</span>;
  const given = fields(one.arguments).filter(([name]) => names.has(name));
  return (
    <span className="min-w-0 flex-1 whitespace-pre-wrap font-mono [overflow-wrap:anywhere]">
      {given.length === 0 && !request && <span className="text-dim">the same as the others</span>}
      {given.map(([name, value]) => (
        <span key={name} className="block">
          {visible(name)}: {visible(folded ? cut(value, SHORT) : value)}
        </span>
      ))}
      {request && one.request && <span className="block text-dim">{visible(one.request)}</span>}
    </span>
  );
}

function State({ waits, decided }: { waits: boolean; decided: Decided | undefined }) {
  if (decided?.problem) {
    const text = decided.status === "unreachable" ? "not sent" : "skipped";
    return (
      <span className="max-w-[50%] break-words text-warn">
        {text}: {visible(decided.problem)}
      </span>
    );
  }
  if (decided) return <Outcome asked={{ kind: "approval", status: decided.status }} />;
  return waits ? null : <span className="shrink-0 text-dim">no longer waiting</span>;
}

type DecideAllProps = {
  open: Interaction[];
  folded: boolean;
  refused: boolean;
  batch: ReturnType<typeof useBatch>;
};

/** What is sent is what was in the rows at the click; rows that have just been added can't be answered yet. */
function DecideAll({ open, folded, refused, batch }: DecideAllProps) {
  const [denying, setDenying] = useState(false);
  const ids = open.map((one) => one.id);
  const readable = open.filter((one) => !one.argumentsCut).map((one) => one.id);
  const calm = useCalm(ids.join(" "));
  const blocked = !calm || batch.sending > 0;
  if (denying) {
    const deny = (reason: string) => void batch.decide({ act: "deny", reason }, ids).then(() => setDenying(false));
    return <DenyForm blocked={blocked} onDeny={deny} onLeave={() => setDenying(false)} />;
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button look="danger" disabled={blocked} onClick={() => setDenying(true)}>
        Deny all {ids.length}…
      </Button>
      <Button
        look="primary"
        disabled={blocked || folded || refused || readable.length === 0}
        onClick={() => void batch.decide({ act: "approve" }, readable)}
      >
        Allow these {readable.length}
      </Button>
      <p className="basis-full text-dim text-xs">
        {folded ? "Show everything first: some of the arguments were not in view." : "This can't be undone."}
      </p>
    </div>
  );
}

function Progress({
  decided,
  sending,
  open,
}: {
  decided: ReadonlyMap<string, Decided>;
  sending: number;
  open: number;
}) {
  const all = [...decided.values()];
  if (all.length === 0 && sending === 0) return null;
  const count = (status: string) => all.filter((one) => one.status === status).length;
  const parts = [
    [count("approved"), "allowed"],
    [count("denied"), "denied"],
    [count("skipped"), "skipped (see the row)"],
    [count("unreachable"), "not sent: Executor can't be reached"],
  ] as const;
  const said = parts.filter(([many]) => many > 0).map(([many, text]) => `${many} ${text}`);
  return (
    <p role="status" className="mt-2 text-sm">
      {sending > 0 ? `Sending… ${said.join(", ")}` : `${said.join(", ")}.${open > 0 ? ` ${open} still waiting.` : ""}`}
    </p>
  );
}
