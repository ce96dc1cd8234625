import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { chooseWorkspace, get, post } from "@/api/client";
import type { components } from "@/api/schema";
import { tellProblem } from "@/ui/toast";

export type Workspace = components["schemas"]["WorkspaceView"];

export function useWorkspaces(): Workspace[] {
  const asked = useQuery({
    queryKey: ["workspaces"],
    queryFn: ({ signal }) => get("/v1/workspaces", signal),
    staleTime: 60_000,
  });
  return asked.data?.items ?? [];
}

/** Go into another workspace, in this tab alone. What was open there has no meaning here, so a page of one thing
 * gives way to the list of its kind. */
export function useEnter(): (id: string) => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  const router = useRouter();
  return async (id) => {
    const first = router.state.location.pathname.split("/")[1] ?? "";
    await navigate({ href: first === "sources" || first === "connect" ? "/" : `/${first}` });
    chooseWorkspace(id);
    await client.resetQueries();
  };
}

const SIGNED_OUT = "executor.signed-out";

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    try {
      await post("/v1/auth/sign-out");
    } catch (error) {
      return tellProblem(error);
    }
    try {
      localStorage.setItem(SIGNED_OUT, String(Date.now()));
    } catch {
      // other tabs find out with their next request
    }
    chooseWorkspace("");
    client.clear();
    window.location.assign("/sign-in");
  };
}

/** Someone signed out in another tab of this browser. */
export function onSignedOut(act: () => void): void {
  addEventListener("storage", (event) => event.key === SIGNED_OUT && act());
}
