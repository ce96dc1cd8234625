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
  wide?: boolean;
};

export const PLACES: Place[] = [
  { to: "/", title: "Sources", icon: Blocks, key: "s" },
  { to: "/executions", title: "Executions", icon: Activity, key: "e" },
  { to: "/approvals", title: "Approvals", icon: ListChecks, key: "a" },
  { to: "/policies", title: "Policies", icon: ScrollText, key: "p" },
  { to: "/secrets", title: "Secrets", icon: KeyRound, key: "k" },
  { to: "/playground", title: "Playground", icon: SquareTerminal, key: "r" },
  // Rarely wanted in a hurry: on a narrow screen it is reached by the account menu and the palette.
  { to: "/audit", title: "Audit", icon: BookCheck, key: "l", wide: true },
  { to: "/settings", title: "Settings", icon: Settings, key: "," },
];
