import {
  Activity,
  Blocks,
  BookCheck,
  KeyRound,
  ListChecks,
  type LucideIcon,
  ScrollText,
  Settings,
  SquareTerminal,
} from "lucide-react";

/** `key` follows `g`. */
export type Place = {
  to: string;
  title: string;
  icon: LucideIcon;
  key: "s" | "e" | "a" | "p" | "k" | "r" | "l" | ",";
  /** Rarely wanted in a hurry: on a narrow screen it is behind "More". */
  rare?: boolean;
};

export const PLACES: Place[] = [
  { to: "/", title: "Sources", icon: Blocks, key: "s" },
  { to: "/executions", title: "Executions", icon: Activity, key: "e" },
  { to: "/approvals", title: "Approvals", icon: ListChecks, key: "a" },
  { to: "/policies", title: "Policies", icon: ScrollText, key: "p" },
  { to: "/secrets", title: "Secrets", icon: KeyRound, key: "k", rare: true },
  { to: "/playground", title: "Playground", icon: SquareTerminal, key: "r" },
  { to: "/audit", title: "Audit", icon: BookCheck, key: "l", rare: true },
  { to: "/settings", title: "Settings", icon: Settings, key: ",", rare: true },
];
