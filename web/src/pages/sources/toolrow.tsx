import { ChevronRight } from "lucide-react";
import type { KeyboardEvent } from "react";
import { visible } from "@/text/visible";
import { EffectBadge } from "@/ui/badge";
import { firstLine } from "./description";
import type { Row } from "./rows";

type Props = {
  row: Row;
  at: number;
  current: string | undefined;
  /** Found by a search: then its description is below its path. */
  found: boolean;
  tabbable: boolean;
  onOpen: (path: string) => void;
  onTurn: (group: string) => void;
  onKey: (event: KeyboardEvent, at: number) => void;
  onFocus: (at: number) => void;
};

const LINE =
  "flex h-full w-full min-w-0 items-center gap-2 rounded-lg pr-2 text-left text-sm outline-offset-[-2px] hover:bg-raised";
// Deeper than this the steps would leave no room for names.
const STEPS = ["pl-2", "pl-6", "pl-9", "pl-12", "pl-14", "pl-16"];

export function ToolRow({ row, at, current, found, tabbable, onOpen, onTurn, onKey, onFocus }: Props) {
  const shared = {
    type: "button" as const,
    "data-row": at,
    tabIndex: tabbable ? 0 : -1,
    onKeyDown: (event: KeyboardEvent) => onKey(event, at),
    onFocus: () => onFocus(at),
  };
  const step = STEPS[Math.min(row.depth, STEPS.length - 1)];
  if (row.kind === "group") {
    return (
      <button
        {...shared}
        aria-expanded={row.open}
        title={visible(row.key)}
        onClick={() => onTurn(row.key)}
        className={`${LINE} ${step} font-medium`}
      >
        <ChevronRight size={13} aria-hidden="true" className={`shrink-0 text-dim ${row.open ? "rotate-90" : ""}`} />
        <span className="truncate">{visible(row.label)}</span>
        <span className="ml-auto text-dim text-xs tabular-nums">{row.count}</span>
      </button>
    );
  }
  const { tool } = row;
  return (
    <button
      {...shared}
      aria-current={tool.path === current ? "true" : undefined}
      title={visible(tool.description).slice(0, 300)}
      onClick={() => onOpen(tool.path)}
      className={`${LINE} ${step} aria-[current=true]:bg-accent-soft`}
    >
      <span className="min-w-0 flex-1">
        <span className={`block truncate font-mono text-xs ${tool.deprecated ? "line-through" : ""}`}>
          {visible(row.label)}
        </span>
        {found && <span className="block truncate text-dim text-xs">{visible(firstLine(tool.description))}</span>}
      </span>
      {tool.effect !== "read" && <EffectBadge effect={tool.effect} />}
    </button>
  );
}
