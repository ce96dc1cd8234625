import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { secrets, whoami } from "@/api/queries";
import type { Secret } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { Table } from "@/ui/table";
import { Ago } from "@/ui/time";
import { SecretForm } from "./form";
import { Removal } from "./removal";
import { Users } from "./users";

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
    <Page title="Secrets" wide about="Write-only. Agents and their code never see the values." actions={add}>
      <Loaded asked={asked}>
        {({ items }) => (items.length ? <Kept items={items} may={may} onAsk={setAsking} /> : <Nothing />)}
      </Loaded>
      <Dialog open={asking !== null} onClose={close} title={asking ? title(asking) : ""}>
        {asking?.act === "remove" && <Removal secret={asking.secret} onDone={close} />}
        {asking?.act === "rotate" && <SecretForm secret={asking.secret} onDone={close} />}
        {asking?.act === "add" && <SecretForm onDone={close} />}
      </Dialog>
    </Page>
  );
}

function title(asking: NonNullable<Asking>): string {
  if (asking.act === "add") return "New secret";
  return asking.act === "remove" ? "Remove the secret?" : `Rotate ${visible(asking.secret.name)}`;
}

function Nothing() {
  return (
    <Empty icon={KeyRound} title="No secrets yet">
      You rarely need to add one: the credential of a source is stored with its connection. Add a secret to share it
      between connections, or to use a value from an external provider.
    </Empty>
  );
}

function Kept({ items, may, onAsk }: { items: Secret[]; may: boolean; onAsk: (asking: Asking) => void }) {
  return (
    <div className="card px-4 py-2">
      <Table
        label="Secrets"
        head={["Name", "Stored in", "Sent to", "Used by", "Rotated", "Last used", ""]}
        rare={["Stored in", "Sent to", "Rotated", "Last used"]}
      >
        {items.map((secret) => (
          <tr key={secret.id}>
            <td className="min-w-28 break-words font-mono text-xs [overflow-wrap:anywhere]">{visible(secret.name)}</td>
            <td className="max-sm:hidden">
              <Badge>{secret.provider}</Badge>{" "}
              <span className="break-all text-dim text-xs">{visible(secret.reference ?? "")}</span>
            </td>
            <td className="break-all text-dim text-xs max-sm:hidden">{visible(secret.origins.join(", "))}</td>
            <td className="text-xs">
              <Users secret={secret} />
            </td>
            <td className="text-dim text-xs max-sm:hidden">
              <Ago at={secret.rotatedAt} />
            </td>
            <td className="text-dim text-xs max-sm:hidden">
              <Ago at={secret.lastUsedAt} />
            </td>
            <td className="whitespace-nowrap text-right">
              {may && (
                <>
                  <Button size="small" onClick={() => onAsk({ act: "rotate", secret })}>
                    Rotate
                  </Button>{" "}
                  <Button size="small" look="ghost" onClick={() => onAsk({ act: "remove", secret })}>
                    Remove
                  </Button>
                </>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
