import type { SystemStatus } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";

// The layers of `executor doctor`, and what each is good for.
const LAYERS: Record<string, string> = {
  rlimits: "Can't exhaust memory or write large files.",
  "network namespace": "Has no network access: it can only reach its tools.",
  "no new privileges": "Can't gain privileges (no_new_privs).",
  landlock: "Can't open files.",
  seccomp: "The kernel blocks all system calls it doesn't need, including new processes.",
};

/** In plain words, the missing ones too: a layer that does not hold is what one wants to know. */
export function Sealing({ sandbox }: { sandbox: SystemStatus["sandbox"] }) {
  const others = sandbox.layers.filter((name) => !(name in LAYERS));
  const rows = [...Object.entries(LAYERS), ...others.map((name): [string, string] => [name, ""])];
  return (
    <>
      <p className="mb-3 text-sm">
        Code runs as WebAssembly, isolated from other code, in {sandbox.workers}{" "}
        {sandbox.workers === 1 ? "process" : "processes"} with an empty environment.
      </p>
      <ul aria-label="Layers" className="-my-1.5 divide-y divide-line text-sm">
        {rows.map(([name, about]) => {
          const holds = sandbox.layers.includes(name);
          return (
            <li
              key={name}
              className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 py-1.5 sm:grid-cols-[5.5rem_11rem_minmax(0,1fr)]"
            >
              <span>{holds ? <Badge tone="ok">✓ active</Badge> : <Badge tone="warn">! missing</Badge>}</span>
              <span className="font-medium">{visible(name)}</span>
              <span className="col-start-2 text-dim sm:col-start-3">{about}</span>
            </li>
          );
        })}
      </ul>
    </>
  );
}
