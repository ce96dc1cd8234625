import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Choice } from "@/ui/field";

export type Scope = "workspace" | "actor";

type Props = { asked: Interaction; scope: Scope; onChoose: (scope: Scope) => void };

export function Owner({ asked, scope, onChoose }: Props) {
  return (
    <Choice label="Who may use it" value={scope} onChange={(event) => onChoose(event.target.value as Scope)}>
      <option value="workspace">Everyone in the workspace, and its agents</option>
      <option value="actor">Only {visible(asked.actor ?? "the requesting actor")}</option>
    </Choice>
  );
}
