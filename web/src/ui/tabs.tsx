import { Tabs as Radix } from "radix-ui";
import { type ReactNode, useEffect, useRef } from "react";

type Tab = { id: string; title: ReactNode; content: ReactNode };
type Props = { label: string; tabs: Tab[]; value: string; onChange: (id: string) => void };

export function Tabs({ label, tabs, value, onChange }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Where there is no room for all of them, the chosen one is in sight; the page itself stays where it is.
    const chosen = list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(value)}"]`);
    if (list.current && chosen)
      list.current.scrollLeft = chosen.offsetLeft - list.current.clientWidth / 2 + chosen.offsetWidth / 2;
  }, [value]);
  return (
    <Radix.Root value={value} onValueChange={onChange}>
      <Radix.List
        ref={list}
        aria-label={label}
        className="relative mb-3 flex gap-1 overflow-x-auto shadow-[inset_0_-1px_0_var(--line)] [scrollbar-width:none]"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            data-tab={tab.id}
            className="whitespace-nowrap border-transparent border-b-2 px-2.5 py-1.5 font-medium text-dim text-sm outline-offset-[-2px] transition-colors hover:border-line hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
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
