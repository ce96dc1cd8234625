import type { SystemStatus } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";

// The layers of `executor doctor`, and what each is good for.
const LAYERS: Record<string, string> = {
  rlimits: "It can't fill the memory of this machine or write large files.",
  "network namespace": "It has no network at all: only the tools it is given reach anything.",
  "no new privileges": "Can't gain privileges, whatever it runs.",
  landlock: "It can't open any file.",
  seccomp: "The kernel refuses everything it has no use for, new processes included.",
};

/** In plain words, the missing ones too: a layer that does not hold is what one wants to know. */
export function Sealing({ sandbox }: { sandbox: SystemStatus["sandbox"] }) {
  const others = sandbox.layers.filter((name) => !(name in LAYERS));
  const rows = [...Object.entries(LAYERS), ...others.map((name): [string, string] => [name, ""])];
  return (
    <>
      <p className="mb-3 text-sm">
        Code runs as WebAssembly, apart from all other code, in {sandbox.workers}{" "}
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
              <span>{holds ? <Badge tone="ok">✓ holds</Badge> : <Badge tone="warn">! missing</Badge>}</span>
              <span className="font-medium">{visible(name)}</span>
              <span className="col-start-2 text-dim sm:col-start-3">{about}</span>
            </li>
          );
        })}
      </ul>
    </>
  );
}
