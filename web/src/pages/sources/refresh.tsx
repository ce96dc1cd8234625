import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Refreshed } from "@/api/types";
import { Button } from "@/ui/button";
import { tell, tellProblem } from "@/ui/toast";

export function Refresh({ id }: { id: string }) {
  const client = useQueryClient();
  const may = useQuery(whoami).data?.permissions.includes("administer");
  const refresh = useMutation({
    mutationFn: () => post<Refreshed>(`/v1/sources/${encodeURIComponent(id)}/refresh`),
    onSuccess: (done) => {
      client.invalidateQueries({ queryKey: ["sources"] });
      client.invalidateQueries({ queryKey: ["tools"] });
      const { added, removed, changed } = done;
      const nothing = done.unchanged || added.length + removed.length + changed.length === 0;
      tell(
        nothing ? "Nothing has changed" : `${added.length} added, ${removed.length} removed, ${changed.length} changed`,
      );
    },
    onError: tellProblem,
  });
  if (!may) return null;
  return (
    <Button busy={refresh.isPending} onClick={() => refresh.mutate()}>
      <RotateCw size={14} aria-hidden="true" className={refresh.isPending ? "animate-spin" : ""} /> Refresh
    </Button>
  );
}
