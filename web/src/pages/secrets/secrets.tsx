import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem, remove } from "@/api/client";
import { secrets, whoami } from "@/api/queries";
import type { Secret } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { Page } from "@/ui/page";
import { Empty, Loaded, Trouble } from "@/ui/states";
import { Table } from "@/ui/table";
import { Ago } from "@/ui/time";
import { tell } from "@/ui/toast";
import { SecretForm } from "./form";

type Asking = { act: "add" } | { act: "rotate" | "remove"; secret: Secret } | null;

export function SecretsPage() {
  const asked = useQuery(secrets);
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const [asking, setAsking] = useState<Asking>(null);
  const close = () => setAsking(null);
  const add = may && (
    <Button look="primary" onClick={() => setAsking({ act: "add" })}>
      Add a secret
    </Button>
  );
  return (
    <Page
      title="Secrets"
      about="Written once, never shown again. Agents and their code never see a value, only that there is one."
      actions={add}
    >
      <Loaded asked={asked}>
        {({ items }) =>
          items.length ? (
            <div className="card px-4 py-2">
              <Table label="Secrets" head={["Name", "Kept in", "Rotated", "Used", ""]}>
                {items.map((secret) => (
                  <Row key={secret.id} secret={secret} may={may} onAct={(act) => setAsking({ act, secret })} />
                ))}
              </Table>
            </div>
          ) : (
            <Empty title="There are no secrets yet">
              Most come by themselves: give a source its credential, and its value is kept here, encrypted.
            </Empty>
          )
        }
      </Loaded>
      <Dialog
        open={asking !== null && asking.act !== "remove"}
        onClose={close}
        title={asking?.act === "rotate" ? `Rotate ${visible(asking.secret.name)}` : "A new secret"}
      >
        {asking && asking.act !== "remove" && (
          <SecretForm secret={asking.act === "rotate" ? asking.secret : undefined} onDone={close} />
        )}
      </Dialog>
      <Dialog open={asking?.act === "remove"} onClose={close} title="Remove the secret?">
        {asking?.act === "remove" && <Removal secret={asking.secret} onDone={close} />}
      </Dialog>
    </Page>
  );
}

function Row({ secret, may, onAct }: { secret: Secret; may: boolean; onAct: (act: "rotate" | "remove") => void }) {
  return (
    <tr>
      <td className="break-all font-mono text-xs">{visible(secret.name)}</td>
      <td>
        <Badge>{secret.provider}</Badge> <span className="text-dim text-xs">{visible(secret.reference ?? "")}</span>
      </td>
      <td className="text-dim text-xs">
        <Ago at={secret.rotatedAt} />
      </td>
      <td className="text-dim text-xs">
        <Ago at={secret.lastUsedAt} />
      </td>
      <td className="whitespace-nowrap text-right">
        {may && (
          <>
            <Button size="small" onClick={() => onAct("rotate")}>
              Rotate
            </Button>{" "}
            <Button size="small" look="danger" onClick={() => onAct("remove")}>
              Remove
            </Button>
          </>
        )}
      </td>
    </tr>
  );
}

function Removal({ secret, onDone }: { secret: Secret; onDone: () => void }) {
  const client = useQueryClient();
  const gone = useMutation({
    mutationFn: (force: boolean) =>
      remove(`/v1/secrets/${encodeURIComponent(secret.name)}${force ? "?force=true" : ""}`),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["secrets"] });
      tell("The secret is gone");
      onDone();
    },
  });
  const used = gone.error instanceof Problem && gone.error.status === 409;
  return (
    <div className="space-y-4 text-sm">
      <p>
        <code className="font-mono">{visible(secret.name)}</code> can't be brought back. What uses it will ask for a
        credential again.
      </p>
      {gone.error ? <Trouble error={gone.error} /> : null}
      <Command text={command("secrets", "remove", secret.name)} />
      <div className="flex gap-2">
        <Button onClick={onDone}>Keep it</Button>
        <Button look="danger" busy={gone.isPending} onClick={() => gone.mutate(used)}>
          {used ? "Remove it all the same" : "Remove"}
        </Button>
      </div>
    </div>
  );
}
