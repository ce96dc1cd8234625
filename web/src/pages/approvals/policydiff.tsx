import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { post } from "@/api/client";
import { policies } from "@/api/queries";
import type { Always, Policy } from "@/api/types";
import { Changes } from "@/pages/policies/changes";
import { visible } from "@/text/visible";
import { draftOf } from "./answer";

const AROUND = 2;

/** The list of policies as it would be: the policies around the new one, what it matches, what it would have changed. */
export function PolicyDiff({ always }: { always: Always }) {
  const known = useQuery(policies).data?.items ?? [];
  const level = known.filter((one) => one.level === always.rule.level);
  const { count, tools } = always.matches;
  return (
    <>
      <Lines policies={level} always={always} />
      <p className="text-dim text-xs">
        It matches <b>{count.toLocaleString("en")}</b> {count === 1 ? "tool" : "tools"}:{" "}
        {tools
          .slice(0, 5)
          .map((path) => visible(path))
          .join(", ")}
        {count > 5 && " …"}
      </p>
      <Past always={always} />
    </>
  );
}

function Lines({ policies, always }: { policies: Policy[]; always: Always }) {
  const place = always.position ?? policies.length;
  const from = Math.max(0, place - AROUND);
  const until = Math.min(policies.length, place + AROUND);
  return (
    <section aria-label="The policies including the new one" className="rounded-lg border border-line bg-surface">
      <h4 className="border-line border-b px-3 py-1.5 text-dim text-xs">
        Policies of the {always.rule.level}, in order of evaluation
      </h4>
      <ol className="py-1 font-mono text-xs leading-5">
        {from > 0 && <li className="px-3 text-dim">… {from} above come first</li>}
        {policies.slice(from, place).map((one, index) => (
          <Line key={one.id} sign=" " number={from + index + 1} text={one.text} />
        ))}
        <Line sign="+" number={place + 1} text={always.rule.text} />
        {policies.slice(place, until).map((one, index) => (
          <Line key={one.id} sign=" " number={place + index + 2} text={one.text} />
        ))}
        {until < policies.length && <li className="px-3 text-dim">… {policies.length - until} below</li>}
        {place === policies.length && (
          <li className="px-3 text-dim">no policy: reads are allowed, other calls need approval</li>
        )}
      </ol>
    </section>
  );
}

function Line({ sign, number, text }: { sign: string; number: number; text: string }) {
  const added = sign === "+";
  return (
    <li className={`flex gap-2 px-3 ${added ? "bg-ok-soft text-ok" : ""}`}>
      <span className="shrink-0 whitespace-pre">{sign}</span>
      <span className="w-5 shrink-0 text-right">{number}</span>
      <span className="min-w-0 break-words [overflow-wrap:anywhere]">
        {added && <span className="sr-only">added: </span>}
        {visible(text)}
      </span>
    </li>
  );
}

function Past({ always }: { always: Always }) {
  const draft = draftOf(always.rule);
  const place = always.position === null ? {} : { position: always.position };
  const past = useQuery({
    queryKey: ["matches", "past", draft, place],
    queryFn: () => post("/v1/policies/simulate", { rule: draft, ...place }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return <Changes asked={past} />;
}
