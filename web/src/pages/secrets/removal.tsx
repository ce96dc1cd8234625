import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Problem, remove } from "@/api/client";
import type { Secret } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { Users } from "./users";

/** Says by name what depends on it before it goes; the daemon reports a connection added meanwhile. */
export function Removal({ secret, onDone }: { secret: Secret; onDone: () => void }) {
  const client = useQueryClient();
  const gone = useMutation({
    mutationFn: (force: boolean) =>
      remove(`/v1/secrets/${encodeURIComponent(secret.name)}${force ? "?force=true" : ""}`),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["secrets"] });
      client.invalidateQueries({ queryKey: ["connections"] });
      tell("Secret removed");
      onDone();
    },
  });
  const known = (secret.usedBy ?? []).length > 0;
  const used = known || (gone.error instanceof Problem && gone.error.status === 409);
  return (
    <div className="space-y-4 text-sm">
      <p>
        <code className="font-mono">{visible(secret.name)}</code> can't be restored.
      </p>
      {known && (
        <div role="alert" className="rounded-lg bg-warn-soft px-3 py-2">
          <p className="font-medium text-warn">These connections use it. Their calls will need a new credential:</p>
          <Users secret={secret} />
        </div>
      )}
      {gone.error ? <Trouble error={gone.error} /> : null}
      <div className="flex flex-wrap gap-2">
        <Button onClick={onDone}>Keep it</Button>
        <Button look="danger" busy={gone.isPending} onClick={() => gone.mutate(used)}>
          {used ? "Remove anyway" : "Remove"}
        </Button>
      </div>
      <Command text={command("secrets", "remove", secret.name, ...(used ? ["--force"] : []))} />
    </div>
  );
}
