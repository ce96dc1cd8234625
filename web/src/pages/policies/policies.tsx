import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, remove } from "@/api/client";
import { policies, whoami } from "@/api/queries";
import type { Policy } from "@/api/types";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Page, Section } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { tellProblem } from "@/ui/toast";
import { RuleForm } from "./form";
import { RuleRow } from "./row";
import { TestBox } from "./test";

export function PoliciesPage() {
  const asked = useQuery(policies);
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const [editing, setEditing] = useState<Policy | "new" | null>(null);
  const add = may && (
    <Button look="primary" onClick={() => setEditing("new")}>
      Add a rule
    </Button>
  );
  const close = () => setEditing(null);
  return (
    <Page
      title="Policies"
      about="The first rule that matches a call decides it. Without one, reads are allowed and all else is asked."
      actions={add}
    >
      <Loaded asked={asked} rows={4}>
        {({ items }) => <Levels items={items} may={may} onEdit={setEditing} />}
      </Loaded>
      <TestBox />
      <Dialog open={editing !== null} onClose={close} title={editing === "new" ? "A new rule" : "Change the rule"} wide>
        {editing && <RuleForm rule={editing === "new" ? undefined : editing} onDone={close} />}
      </Dialog>
    </Page>
  );
}

const TITLES = {
  organization: "Rules of the organization",
  workspace: "Rules of the workspace",
  toolkit: "Rules of toolkits",
};

function Levels({ items, may, onEdit }: { items: Policy[]; may: boolean; onEdit: (policy: Policy) => void }) {
  if (items.length === 0) {
    return (
      <div className="mb-4">
        <Empty title="There are no rules yet">
          Reads are allowed, everything else is asked. “Always allow” on a question makes the narrowest rule for it.
        </Empty>
      </div>
    );
  }
  const levels = (["organization", "workspace", "toolkit"] as const).filter((level) =>
    items.some((one) => one.level === level),
  );
  return levels.map((level) => (
    <Section
      key={level}
      title={TITLES[level]}
      about={level === "organization" ? "A workspace can only tighten them" : undefined}
    >
      <Rules rules={items.filter((one) => one.level === level)} may={may} onEdit={onEdit} />
    </Section>
  ));
}

function Rules({ rules, may, onEdit }: { rules: Policy[]; may: boolean; onEdit: (policy: Policy) => void }) {
  const client = useQueryClient();
  const renew = () => client.invalidateQueries({ queryKey: ["policies"] });
  const move = useMutation({
    mutationFn: ({ id, position }: { id: string; position: number }) =>
      post(`/v1/policies/${encodeURIComponent(id)}/move`, { position }),
    onSettled: renew,
    onError: tellProblem,
  });
  const gone = useMutation({
    mutationFn: (id: string) => remove(`/v1/policies/${encodeURIComponent(id)}`),
    onSettled: renew,
    onError: tellProblem,
  });
  const [dragged, setDragged] = useState<string | null>(null);
  return (
    <ol className="-my-2 divide-y divide-line">
      {rules.map((rule, index) => (
        <RuleRow
          key={rule.id}
          rule={rule}
          may={may}
          first={index === 0}
          last={index === rules.length - 1}
          onMove={(step) => rule.id && move.mutate({ id: rule.id, position: index + step })}
          onDrag={() => setDragged(rule.id)}
          onDrop={() => dragged && dragged !== rule.id && move.mutate({ id: dragged, position: index })}
          onEdit={() => onEdit(rule)}
          onRemove={() => rule.id && gone.mutate(rule.id)}
        />
      ))}
    </ol>
  );
}
