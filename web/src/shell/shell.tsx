import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { chooseWorkspace, chosenWorkspace, Problem } from "@/api/client";
import { whoami } from "@/api/queries";
import { Live } from "@/live/live";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { Frame, Outline } from "./frame";
import { Offline } from "./offline";

export function Shell() {
  const who = useQuery(whoami);
  const status = who.error instanceof Problem ? who.error.status : 0;
  if (status === 401) return <ToSignIn />;
  if (status === 404 && chosenWorkspace()) return <Astray onReturn={() => void who.refetch()} />;
  if (who.error && !who.data && !who.isFetching) {
    if (status === 0) return <Offline />;
    return (
      <main className="mx-auto max-w-lg p-8">
        <Trouble error={who.error} onRetry={() => void who.refetch()} />
      </main>
    );
  }
  if (!who.data) return <Outline />;
  return (
    <Live key={who.data.workspace.id}>
      <Frame>
        <Outlet />
      </Frame>
    </Live>
  );
}

/** Once, and from where one was when it began: the address changes while this is still shown. */
function ToSignIn() {
  const navigate = useNavigate();
  const router = useRouter();
  const to = useRef(router.state.location.href).current;
  useEffect(() => {
    void navigate({ to: "/sign-in", search: { to }, replace: true });
  }, [navigate, to]);
  return null;
}

/** The workspace that this browser remembers is another person's, or one that was left. */
function Astray({ onReturn }: { onReturn: () => void }) {
  useEffect(() => {
    chooseWorkspace("");
    tell("You no longer have access to that workspace. This is your own");
    onReturn();
  }, [onReturn]);
  return <Outline />;
}
