// What was looked at lately, by this browser in this workspace. Only addresses and names, nothing of what they show.
import { useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import { chosenWorkspace } from "@/api/client";

export type Recent = { to: string; title: string; about: string };

const KEPT = 8;
const KINDS: Record<string, string> = { sources: "source", executions: "execution", approvals: "question" };

const store = () => `executor.recent.${chosenWorkspace()}`;

export function recent(): Recent[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(store()) ?? "[]");
    return Array.isArray(found)
      ? found.filter((one): one is Recent => typeof one?.to === "string" && one.to[0] === "/")
      : [];
  } catch {
    return [];
  }
}

function remember(one: Recent): void {
  try {
    const others = recent().filter((other) => other.to !== one.to);
    localStorage.setItem(store(), JSON.stringify([one, ...others].slice(0, KEPT)));
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
  const tool = String((search as Record<string, unknown>).tool ?? "");
  useEffect(() => {
    const found = thing(pathname, tool);
    if (found) remember(found);
  }, [pathname, tool]);
}
