import { visible } from "@/text/visible";
import { EffectBadge } from "@/ui/badge";
import type { Row } from "./rows";

type Props = {
  row: Row;
  current: string | undefined;
  onOpen: (path: string) => void;
  onTurn: (group: string) => void;
};

const LINE =
  "flex h-8 w-full min-w-0 items-center gap-2 rounded-lg px-2 text-left text-sm outline-offset-[-2px] hover:bg-raised";

export function ToolRow({ row, current, onOpen, onTurn }: Props) {
  if (row.kind === "group") {
    return (
      <button
        type="button"
        aria-expanded={row.open}
        onClick={() => onTurn(row.group)}
        className={`${LINE} font-medium`}
      >
        <span aria-hidden="true" className="w-3 text-dim">
          {row.open ? "▾" : "▸"}
        </span>
        <span className="truncate">{visible(row.group)}</span>
        <span className="ml-auto text-dim text-xs tabular-nums">{row.count}</span>
      </button>
    );
  }
  const { tool } = row;
  return (
    <button
      type="button"
      aria-current={tool.path === current ? "true" : undefined}
      title={visible(tool.description).slice(0, 300)}
      onClick={() => onOpen(tool.path)}
      className={`${LINE} aria-[current=true]:bg-accent-soft ${row.depth ? "pl-7" : ""}`}
    >
      <span className={`truncate font-mono text-xs ${tool.deprecated ? "line-through" : ""}`}>
        {visible(row.label)}
      </span>
      <span className="ml-auto">{tool.effect !== "read" && <EffectBadge effect={tool.effect} />}</span>
    </button>
  );
}
