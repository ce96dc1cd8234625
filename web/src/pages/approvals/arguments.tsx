import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { write } from "@/api/json";
import { execution } from "@/api/queries";
import type { Call, Interaction } from "@/api/types";
import { type Difference, differences } from "@/text/differences";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Tree } from "@/ui/tree";
import { linesOf, MOST_DRAWN } from "./folding";

type Props = { asked: Interaction; folded: boolean; onUnfold: () => void; compared?: boolean };

/** All of them, or a note of what is folded; where it is `compared`, also what is new since this execution last called
 * the same tool. */
export function Arguments({ asked, folded, onUnfold, compared = false }: Props) {
  const before = useBefore(asked, compared);
  return (
    <section aria-label="Arguments">
      <h3 className="mb-1.5 font-medium text-sm">Arguments</h3>
      {folded && <NotInView values={asked.arguments} onUnfold={onUnfold} />}
      <Shown value={asked.arguments} folded={folded} />
      {asked.argumentsCut && (
        <p role="alert" className="mt-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
          Not everything is shown: {visible(asked.argumentsCut)} were cut.{" "}
          {asked.executionId && (
            <Link
              to="/executions/$id"
              params={{ id: asked.executionId }}
              search={{ call: String(asked.callSeq) }}
              className="underline"
            >
              The call contains all of them
            </Link>
          )}
        </p>
      )}
      {before && !asked.argumentsCut && <Since call={before} {...differences(before.arguments, asked.arguments)} />}
    </section>
  );
}

/** Says how much is folded, and shows it when asked to. */
export function NotInView({ values, onUnfold }: { values: unknown; onUnfold: () => void }) {
  return (
    <p
      role="alert"
      className="mb-2 flex flex-wrap items-center gap-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn"
    >
      Not everything is in view: {linesOf(values).toLocaleString("en")} values,{" "}
      {write(values).length.toLocaleString("en")} characters.
      <Button size="small" onClick={onUnfold}>
        Show everything
      </Button>
    </p>
  );
}

function useBefore(asked: Interaction, wanted: boolean): Call | undefined {
  const of = execution(asked.executionId ?? "");
  const calls = useQuery({ ...of, enabled: wanted && asked.executionId !== null }).data?.calls ?? [];
  if (!wanted) return undefined;
  return calls.filter((one) => one.path === asked.tool && one.seq < asked.callSeq).at(-1);
}

function Shown({ value, folded }: { value: unknown; folded: boolean }) {
  if (folded || linesOf(value) <= MOST_DRAWN) return <Tree value={value} label="arguments" whole={!folded} />;
  return (
    <pre className="whitespace-pre-wrap rounded-lg border border-line bg-raised/60 px-3 py-2 font-mono text-xs leading-5 [overflow-wrap:anywhere]">
      {visible(write(value, 2), "\n")}
    </pre>
  );
}

function Since({ call, found, more }: { call: Call; found: Difference[]; more: number }) {
  return (
    <div className="mt-2 text-xs">
      <p className="text-dim">
        {found.length === 0
          ? `The same arguments as in call ${call.seq} of this execution (${call.state}).`
          : `What differs from call ${call.seq} of this execution to the same tool (${call.state}):`}
      </p>
      <ul className="mt-1 space-y-0.5 font-mono">
        {found.map((one) => (
          <li key={one.pointer} className="break-words">
            {visible(one.pointer)}{" "}
            {one.before !== undefined && <del className="bg-bad-soft px-1 text-bad">{visible(one.before)}</del>}{" "}
            {one.after !== undefined && (
              <ins className="bg-ok-soft px-1 text-ok no-underline">+ {visible(one.after)}</ins>
            )}
          </li>
        ))}
        {more > 0 && <li className="text-warn">and {more.toLocaleString("en")} more</li>}
      </ul>
    </div>
  );
}
