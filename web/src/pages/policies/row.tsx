import { ArrowDown, ArrowUp, GripVertical, Pencil, Trash2 } from "lucide-react";
import type { Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { ActionBadge } from "@/ui/badge";
import { IconButton } from "@/ui/button";

type Props = {
  rule: Policy;
  may: boolean;
  first: boolean;
  last: boolean;
  onMove: (step: number) => void;
  onDrag: () => void;
  onDrop: () => void;
  onEdit: () => void;
  onRemove: () => void;
};

/** One rule, in words. It is moved by dragging, or with the arrows. */
export function RuleRow({ rule, may, first, last, onMove, onDrag, onDrop, onEdit, onRemove }: Props) {
  return (
    <li
      draggable={may}
      onDragStart={onDrag}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      className="flex flex-wrap items-center gap-2 py-2"
    >
      {may && <GripVertical size={14} aria-hidden="true" className="hidden cursor-grab text-dim sm:block" />}
      <ActionBadge action={rule.action} />
      <span className="min-w-0 flex-1 basis-56">
        <code className="break-words font-mono text-xs">{visible(rule.text)}</code>
        {rule.note && <span className="block text-dim text-xs">{visible(rule.note)}</span>}
      </span>
      {may && (
        <span className="flex">
          <IconButton label={`Move ${visible(rule.pattern)} up`} disabled={first} onClick={() => onMove(-1)}>
            <ArrowUp size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Move ${visible(rule.pattern)} down`} disabled={last} onClick={() => onMove(1)}>
            <ArrowDown size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Change ${visible(rule.pattern)}`} onClick={onEdit}>
            <Pencil size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Remove ${visible(rule.pattern)}`} onClick={onRemove}>
            <Trash2 size={14} aria-hidden="true" />
          </IconButton>
        </span>
      )}
    </li>
  );
}
