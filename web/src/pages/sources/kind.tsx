import { Braces, type LucideIcon, Plug, Waypoints } from "lucide-react";

const ICONS: Record<string, LucideIcon> = { openapi: Braces, graphql: Waypoints, mcp: Plug };

/** Distinguishes rows at a glance; the kind itself is beside it in words. */
export function KindMark({ kind }: { kind: string }) {
  const Icon = ICONS[kind] ?? Plug;
  return (
    <span
      aria-hidden="true"
      className="hidden size-8.5 shrink-0 place-items-center rounded-lg border border-line bg-raised text-dim sm:grid"
    >
      <Icon size={16} />
    </span>
  );
}
