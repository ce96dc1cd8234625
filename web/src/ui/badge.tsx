import type { ReactNode } from "react";
import type { Action, Effect, Status } from "@/api/types";

export type Tone = "quiet" | "ok" | "warn" | "bad" | "accent";

const TONES: Record<Tone, string> = {
  quiet: "bg-raised text-dim",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  accent: "bg-accent-soft text-accent",
};

export function Badge({ tone = "quiet", children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span
      title={title}
      className={`inline-flex items-center gap-1 whitespace-nowrap rounded-md px-1.5 py-0.5 font-medium text-xs ${TONES[tone]}`}
    >
      {children}
    </span>
  );
}

// Colour is never alone: each state has a sign of its own.
const STATES: Record<Status, [Tone, string]> = {
  queued: ["quiet", "○"],
  running: ["accent", "◐"],
  paused: ["warn", "‖"],
  completed: ["ok", "✓"],
  failed: ["bad", "✕"],
  cancelled: ["quiet", "⊘"],
};

export function StatusBadge({ status }: { status: Status }) {
  const [tone, sign] = STATES[status];
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span>
      {status}
    </Badge>
  );
}

const EFFECTS: Record<string, Tone> = { read: "quiet", write: "warn", destructive: "bad" };

export function EffectBadge({ effect }: { effect: Effect | string | null }) {
  return effect ? <Badge tone={EFFECTS[effect] ?? "quiet"}>{effect}</Badge> : null;
}

const ACTIONS: Record<Action, [Tone, string]> = {
  allow: ["ok", "allow"],
  require_approval: ["warn", "ask"],
  deny: ["bad", "deny"],
};

export function ActionBadge({ action }: { action: Action }) {
  const [tone, text] = ACTIONS[action];
  return <Badge tone={tone}>{text}</Badge>;
}
