import {
  Activity,
  Blocks,
  KeyRound,
  ListChecks,
  type LucideIcon,
  ScrollText,
  Settings,
  SquareTerminal,
} from "lucide-react";

/** `key` follows `g`. */
export type Place = { to: string; title: string; icon: LucideIcon; key: "s" | "e" | "a" | "p" | "k" | "r" | "," };

export const PLACES: Place[] = [
  { to: "/", title: "Sources", icon: Blocks, key: "s" },
  { to: "/executions", title: "Executions", icon: Activity, key: "e" },
  { to: "/approvals", title: "Approvals", icon: ListChecks, key: "a" },
  { to: "/policies", title: "Policies", icon: ScrollText, key: "p" },
  { to: "/secrets", title: "Secrets", icon: KeyRound, key: "k" },
  { to: "/playground", title: "Playground", icon: SquareTerminal, key: "r" },
  { to: "/settings", title: "Settings", icon: Settings, key: "," },
];
