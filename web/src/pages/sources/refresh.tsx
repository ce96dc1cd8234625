import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { source, whoami } from "@/api/queries";
import type { Refreshed } from "@/api/types";
import { Button } from "@/ui/button";
import { tell, tellProblem } from "@/ui/toast";
import { follow, useProgress } from "./follow";
import { path } from "./queries";

type Props = { id: string; size?: "small" | "normal"; word?: string };

export function Refresh({ id, size = "normal", word = "Refresh" }: Props) {
  const client = useQueryClient();
  const progress = useProgress();
  const may = useQuery(whoami).data?.permissions.includes("administer");
  const refresh = useMutation({
    mutationFn: () => follow<Refreshed>(path(id, "/refresh"), {}, progress.say),
    onSuccess: (done) => tell(said(done)),
    onError: tellProblem,
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["sources"] });
      client.invalidateQueries({ queryKey: ["tools"] });
      progress.clear();
    },
  });
  const found = useQuery(source(id)).data;
  if (!may || (found && !found.location && !found.command)) return null;
  return (
    <Button size={size} busy={refresh.isPending} onClick={() => refresh.mutate()} title={progress.text || undefined}>
      <RotateCw size={14} aria-hidden="true" className={refresh.isPending ? "animate-spin" : ""} />{" "}
      {refresh.isPending ? "Reading…" : word}
    </Button>
  );
}

function said({ added, removed, changed, unchanged, held }: Refreshed): string {
  if (held.length) return `${held.length} changed: review what the server changed`;
  if (unchanged || added.length + removed.length + changed.length === 0) return "Nothing has changed";
  return `${added.length} added, ${removed.length} removed, ${changed.length} changed: see Changes`;
}
