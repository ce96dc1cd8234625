import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";

/** Why a policy that allowed the tool no longer does, and which policies a source to be added would meet. */
export function Changed({ asked }: { asked: Interaction }) {
  const { changed, rules: policies, namespace } = asked;
  if (!changed && !policies?.length) return null;
  return (
    <section aria-label="What changed" className="space-y-2 rounded-lg bg-warn-soft px-3 py-2 text-sm">
      {changed && <Differences changed={changed} />}
      {policies && policies.length > 0 && (
        <>
          <p>
            These policies allow calls in <code>{visible(namespace ?? "")}</code>. They will not apply to this source:
          </p>
          <ul className="list-disc pl-5 font-mono text-xs">
            {policies.map((policy) => (
              <li key={policy}>{visible(policy)}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Differences({ changed }: { changed: NonNullable<Interaction["changed"]> }) {
  return (
    <>
      <p>
        {changed.isNew ? "This tool is new" : "This tool has changed"} since the policy{" "}
        <code className="break-words font-mono text-xs">{visible(changed.rule)}</code> was created.
      </p>
      {changed.differences.length > 0 && (
        <ul className="space-y-1 font-mono text-xs">
          {changed.differences.map((one) => (
            <li key={`${one.at} ${one.what}`} className="break-words [overflow-wrap:anywhere]">
              {visible(one.at)} {visible(one.what)}: <del className="text-bad">{visible(one.was)}</del>{" "}
              <ins className="text-ok">{visible(one.now)}</ins>
            </li>
          ))}
        </ul>
      )}
      {changed.cut && <p className="text-xs">There are more differences: see the changes of the source.</p>}
    </>
  );
}
