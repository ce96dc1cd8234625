import { useQuery } from "@tanstack/react-query";
import { ScrollText } from "lucide-react";
import { useState } from "react";
import { whoami } from "@/api/queries";
import type { Policy } from "@/api/types";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Page, Section } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { PolicyForm } from "./form";
import { PolicyList } from "./list";
import { policies } from "./queries";
import { Removal } from "./removal";
import { TestBox } from "./test";
import { WhatIf } from "./whatif";

export type Act = "change" | "remove" | "what if";
type Opened = { act: "add" } | { act: Act; policy: Policy } | null;

const TITLES = { add: "New policy", change: "Edit the policy", remove: "Remove the policy?", "what if": "What if…" };

export function PoliciesPage() {
  const asked = useQuery(policies);
  const may = useQuery(whoami).data?.permissions ?? [];
  const [opened, setOpened] = useState<Opened>(null);
  const add = may.includes("administer") && (
    <Button look="primary" onClick={() => setOpened({ act: "add" })}>
      Add a policy
    </Button>
  );
  const close = () => setOpened(null);
  const items = asked.data?.items ?? [];
  return (
    <Page
      title="Policies"
      wide
      about="At each level, the first policy that applies decides a call. Without one, reads are allowed and everything else needs approval."
      actions={add}
    >
      <Loaded asked={asked} rows={4}>
        {() => <Levels items={items} may={may} onAct={(act, policy) => setOpened({ act, policy })} />}
      </Loaded>
      <TestBox />
      <Dialog open={opened !== null} onClose={close} title={opened ? TITLES[opened.act] : ""} wide>
        {opened && <Content {...{ opened, items }} mayManage={may.includes("manage")} onDone={close} />}
      </Dialog>
    </Page>
  );
}

type ContentProps = { opened: NonNullable<Opened>; items: Policy[]; mayManage: boolean; onDone: () => void };

function Content({ opened, items, mayManage, onDone }: ContentProps) {
  if (opened.act === "add") return <PolicyForm {...{ items, mayManage, onDone }} />;
  const { act, policy } = opened;
  const level = items.filter((one) => one.level === policy.level);
  if (act === "remove") return <Removal {...{ policy, onDone }} />;
  if (act === "what if") return <WhatIf {...{ policy, level, onDone }} />;
  return <PolicyForm {...{ policy, items, mayManage, onDone }} />;
}

const LEVELS = {
  organization: ["Organization policies", "They apply in all its workspaces, which can only make them stricter."],
  workspace: ["Workspace policies", ""],
  toolkit: ["Toolkit policies", ""],
} as const;

type LevelsProps = { items: Policy[]; may: string[]; onAct: (act: Act, policy: Policy) => void };

function Levels({ items, may, onAct }: LevelsProps) {
  if (items.length === 0) {
    return (
      <div className="mb-4">
        <Empty icon={ScrollText} title="No policies yet">
          Reads are allowed, everything else needs approval. “Always allow” on a request creates the narrowest policy
          for it.
        </Empty>
      </div>
    );
  }
  const levels = (["organization", "workspace", "toolkit"] as const).filter((level) =>
    items.some((one) => one.level === level),
  );
  return levels.map((level) => (
    <Section key={level} title={LEVELS[level][0]} about={LEVELS[level][1] || undefined}>
      <PolicyList
        policies={items.filter((one) => one.level === level)}
        may={may.includes(level === "organization" ? "manage" : "administer")}
        onAct={onAct}
      />
    </Section>
  ));
}
