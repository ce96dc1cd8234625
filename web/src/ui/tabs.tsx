import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

type Tab = { id: string; title: ReactNode; content: ReactNode };
type Props = { label: string; tabs: Tab[]; value: string; onChange: (id: string) => void };

export function Tabs({ label, tabs, value, onChange }: Props) {
  return (
    <Radix.Root value={value} onValueChange={onChange}>
      <Radix.List aria-label={label} className="mb-3 flex gap-1 overflow-x-auto border-line border-b">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px whitespace-nowrap border-transparent border-b-2 px-2.5 py-1.5 font-medium text-dim text-sm hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.title}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="min-w-0">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
