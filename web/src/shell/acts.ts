import { useQuery } from "@tanstack/react-query";
import { ArrowLeftRight, CircleHelp, LogOut, type LucideIcon, Moon, Plus, ScrollText, UserPlus } from "lucide-react";
import { useVisitor, whoami } from "@/api/queries";
import { useEnter, useSignOut, useWorkspaces } from "./entering";
import type { Entry } from "./found";
import { toggleTheme } from "./theme";

/** What can be done from anywhere; only what one may. */
export function useActs(onHelp: () => void): Entry[] {
  const may = useQuery(whoami).data?.permissions ?? [];
  const visitor = useVisitor();
  const signOut = useSignOut();
  const enter = useEnter();
  const others = useWorkspaces().filter((place) => !place.current);
  const acts: Entry[] = [];
  const add = (title: string, about: string, icon: LucideIcon, to: string, act?: () => void) =>
    acts.push({ id: `act ${title}`, group: "Actions", title, about, to, icon, act });
  if (may.includes("administer")) {
    add("Add a source", "connect", Plus, "/sources/add");
    add("Add or edit a policy", "policies", ScrollText, "/policies");
  }
  if (may.includes("manage")) add("Invite someone", "members", UserPlus, "/settings?tab=people");
  if (!visitor) add("Create an API key", "keys", Plus, "/settings?tab=keys");
  add("Toggle light and dark", "theme, appearance", Moon, "", toggleTheme);
  for (const place of others)
    add(`Switch to ${place.name}`, "workspace", ArrowLeftRight, "", () => void enter(place.id));
  add("Show keyboard shortcuts", "help", CircleHelp, "", onHelp);
  if (!visitor) add("Sign out", "end this session", LogOut, "", () => void signOut());
  return acts;
}
