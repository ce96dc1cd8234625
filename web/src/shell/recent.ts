// What was looked at lately, by this person in this workspace. Only addresses and names, nothing of what they show.
import { useQuery } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import { whoami } from "@/api/queries";

export type Recent = { to: string; title: string; about: string };

const KEPT = 8;
const KINDS: Record<string, string> = { sources: "source", executions: "execution", approvals: "approval" };

// Anyone who comes to this browser after someone else is another actor.
const store = (actor: string) => `executor.recent.${actor}`;

export function recent(actor: string): Recent[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(store(actor)) ?? "[]");
    return Array.isArray(found)
      ? found.filter((one): one is Recent => typeof one?.to === "string" && one.to[0] === "/")
      : [];
  } catch {
    return [];
  }
}

function remember(actor: string, one: Recent): void {
  try {
    const others = recent(actor).filter((other) => other.to !== one.to);
    localStorage.setItem(store(actor), JSON.stringify([one, ...others].slice(0, KEPT)));
  } catch {
    // without storage nothing is remembered
  }
}

/** The pages of single things; lists are in the navigation anyway. */
function thing(pathname: string, tool: string): Recent | null {
  const [, kind = "", id = ""] = pathname.split("/");
  const about = KINDS[kind];
  if (!about || !id || id === "add") return null;
  if (tool) return { to: `/${kind}/${id}?tool=${encodeURIComponent(tool)}`, title: tool, about: "tool" };
  return { to: `/${kind}/${id}`, title: id, about };
}

export function useRemember(): void {
  const { pathname, search } = useRouterState({ select: (state) => state.location });
  const actor = useQuery(whoami).data?.actorId;
  const tool = String((search as Record<string, unknown>).tool ?? "");
  useEffect(() => {
    const found = thing(pathname, tool);
    if (found && actor) remember(actor, found);
  }, [actor, pathname, tool]);
}
