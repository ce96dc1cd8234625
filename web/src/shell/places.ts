import {
  Activity,
  Blocks,
  BookCheck,
  Bot,
  KeyRound,
  ListChecks,
  type LucideIcon,
  ScrollText,
  Settings,
  SquareTerminal,
  ToolCase,
  Wrench,
} from "lucide-react";
import { useVisitor } from "@/api/queries";

/** `key` follows `g`. */
export type Place = {
  to: string;
  title: string;
  icon: LucideIcon;
  key: "s" | "c" | "e" | "a" | "p" | "k" | "r" | "l" | "t" | "o" | ",";
  /** For people with an account: a browser without one can do nothing there. */
  account?: boolean;
  /** Rarely wanted in a hurry: on a narrow screen it is behind "More". */
  rare?: boolean;
};

export const PLACES: Place[] = [
  { to: "/", title: "Sources", icon: Blocks, key: "s" },
  { to: "/tools", title: "Tools", icon: Wrench, key: "t", rare: true },
  { to: "/executions", title: "Executions", icon: Activity, key: "e" },
  { to: "/sessions", title: "Sessions", icon: Bot, key: "c", account: true },
  { to: "/approvals", title: "Approvals", icon: ListChecks, key: "a" },
  { to: "/policies", title: "Policies", icon: ScrollText, key: "p", account: true },
  { to: "/toolkits", title: "Toolkits", icon: ToolCase, key: "o", account: true, rare: true },
  { to: "/secrets", title: "Secrets", icon: KeyRound, key: "k", account: true, rare: true },
  { to: "/playground", title: "Playground", icon: SquareTerminal, key: "r", rare: true },
  { to: "/audit", title: "Audit", icon: BookCheck, key: "l", rare: true },
  { to: "/settings", title: "Settings", icon: Settings, key: ",", account: true, rare: true },
];

/** Those that this browser can use. */
export function usePlaces(): Place[] {
  const visitor = useVisitor();
  return visitor ? PLACES.filter((place) => !place.account) : PLACES;
}
