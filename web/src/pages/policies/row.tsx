import { ArrowDown, ArrowUp, FlaskConical, GripVertical, Pencil, Trash2 } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import type { Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { ActionBadge, Badge } from "@/ui/badge";
import { IconButton } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { addCommand, draftOf } from "./command";
import type { Act } from "./policies";
import { Restraint } from "./renewal";

type Props = {
  policy: Policy;
  may: boolean;
  number: number;
  count: number;
  above: Policy | undefined;
  named: boolean;
  over: boolean;
  onMove: (step: number) => void;
  onDrag: () => void;
  onOver: () => void;
  onDrop: () => void;
  onAct: (act: Act) => void;
};

/** One policy, in words. The row itself takes the focus, so that Alt and an arrow can move it again and again. */
export function PolicyRow({ policy, may, number, above, named, over, onMove, onDrag, onOver, onDrop, ...rest }: Props) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (named) row.current?.scrollIntoView({ block: "center" });
  }, [named]);
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (!may || !event.altKey || !step) return;
    event.preventDefault();
    onMove(step);
  };
  return (
    <li
      ref={row}
      tabIndex={0}
      aria-label={`Policy ${number}: ${visible(policy.text)}`}
      aria-keyshortcuts={may ? "Alt+ArrowUp Alt+ArrowDown" : undefined}
      draggable={may}
      onKeyDown={pressed}
      onDragStart={onDrag}
      onDragOver={(event) => {
        event.preventDefault();
        onOver();
      }}
      onDrop={onDrop}
      className={`-mx-2 flex flex-wrap items-center gap-x-2 gap-y-1 px-2 py-2 ${named ? "bg-accent-soft" : ""} ${over ? "shadow-[0_-2px_0_var(--accent)]" : ""}`}
    >
      {may && <GripVertical size={14} aria-hidden="true" className="hidden cursor-grab text-dim sm:block" />}
      <span className="w-5 text-right text-dim text-xs tabular-nums">{number}</span>
      <span className="w-12 shrink-0">
        <ActionBadge action={policy.action} />
      </span>
      <span className="min-w-0 flex-1 basis-56">
        <code className="block break-words font-mono text-xs leading-5 [overflow-wrap:anywhere]">
          {visible(policy.text)}
        </code>
        {policy.note && <span className="block text-dim text-xs">{visible(policy.note)}</span>}
        {above && (
          <span className="mt-0.5 block text-warn text-xs">
            <span aria-hidden="true">⚠ </span>It never decides: <code>{visible(above.text)}</code> above matches all of
            its calls.
          </span>
        )}
        <Restraint policy={policy} may={may} />
      </span>
      <Reach policy={policy} />
      <Acts policy={policy} may={may} number={number} onMove={onMove} {...rest} />
    </li>
  );
}

function Reach({ policy }: { policy: Policy }) {
  if (policy.matches === undefined || policy.matches === null) return null;
  if (policy.matches === 0 && policy.pattern.startsWith("agent."))
    return <span className="whitespace-nowrap text-dim text-xs">applies to coding agents</span>;
  const text = `matches ${policy.matches.toLocaleString("en")} ${policy.matches === 1 ? "tool" : "tools"}`;
  return policy.matches === 0 ? (
    <Badge tone="warn">{text} now</Badge>
  ) : (
    <span className="whitespace-nowrap text-dim text-xs">{text}</span>
  );
}

type ActsProps = Pick<Props, "policy" | "may" | "number" | "count" | "onMove" | "onAct">;

function Acts({ policy, may, number, count, onMove, onAct }: ActsProps) {
  const name = visible(policy.pattern);
  return (
    <span className="ml-auto flex">
      <CopyButton text={addCommand(draftOf(policy))} label={`Copy ${name} as a command`} />
      {may && (
        <>
          <IconButton label={`Move ${name} up`} disabled={number === 1} onClick={() => onMove(-1)}>
            <ArrowUp size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Move ${name} down`} disabled={number === count} onClick={() => onMove(1)}>
            <ArrowDown size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Simulate moving ${name}`} onClick={() => onAct("what if")}>
            <FlaskConical size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Edit ${name}`} onClick={() => onAct("change")}>
            <Pencil size={14} aria-hidden="true" />
          </IconButton>
          <IconButton label={`Remove ${name}`} onClick={() => onAct("remove")}>
            <Trash2 size={14} aria-hidden="true" />
          </IconButton>
        </>
      )}
    </span>
  );
}
