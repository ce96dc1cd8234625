import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { post, remove } from "@/api/client";
import type { SessionDetails } from "@/api/types";
import { Button, looks } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm";
import { tell, tellProblem } from "@/ui/toast";
import { path } from "./queries";

export function Acts({ session }: { session: SessionDetails }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const own = path(session.id);
  const settled = {
    onError: tellProblem,
    onSettled: () => client.invalidateQueries({ queryKey: ["agent_sessions"] }),
  };
  const stop = useMutation({ mutationFn: () => post(`${own}/stop`), ...settled });
  const resume = useMutation({ mutationFn: () => post(`${own}/resume`), ...settled });
  const archive = useMutation({ mutationFn: () => post(`${own}/archive`), ...settled });
  const fork = useMutation({
    mutationFn: () => post(`${own}/fork`),
    ...settled,
    onSuccess: ({ id }) => void navigate({ to: "/sessions/$id", params: { id } }),
  });
  const erase = useMutation({
    mutationFn: () => remove(own),
    ...settled,
    onSuccess: ({ snapshot }) => {
      tell(snapshot ? `Deleted. Its work is kept at ${snapshot}` : "Deleted the session");
      void navigate({ to: "/sessions" });
    },
  });
  const ended = session.status === "stopped" || session.archivedAt !== null;
  return (
    <>
      <a href={`${own}/export?format=markdown`} download={`${session.id}.md`} className={looks("plain")}>
        Export
      </a>
      {ended ? (
        <Button busy={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      ) : (
        <Button look="danger" busy={stop.isPending} onClick={() => stop.mutate()}>
          Stop
        </Button>
      )}
      <Button busy={fork.isPending} onClick={() => fork.mutate()}>
        Fork
      </Button>
      {session.archivedAt === null ? (
        <Button busy={archive.isPending} onClick={() => archive.mutate()}>
          Archive
        </Button>
      ) : (
        <ConfirmButton sure="Really delete?" busy={erase.isPending} onConfirm={() => erase.mutate()}>
          Delete
        </ConfirmButton>
      )}
    </>
  );
}
