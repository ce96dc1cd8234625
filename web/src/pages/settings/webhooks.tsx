import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { patch, post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Webhook } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Choice, TextField, Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import { Reserved } from "@/ui/reserved";
import { Loaded, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tellProblem } from "@/ui/toast";
import { Deliveries } from "./deliveries";
import { Once } from "./once";
import { webhooks } from "./queries";
import { Row } from "./rows";

const ABOUT =
  "Other services get a small signed message when something happens: its type, ids, a title and a link. They can't decide anything.";

export function Webhooks() {
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const asked = useQuery({ ...webhooks, enabled: may });
  const [secret, setSecret] = useState("");
  if (!may)
    return (
      <Section title="Webhooks" about={ABOUT}>
        <Reserved who="an admin">You can't see or change webhooks.</Reserved>
      </Section>
    );
  return (
    <Section title="Webhooks" about={ABOUT}>
      {secret && <Once title="The secret of the webhook" text={secret} onDone={() => setSecret("")} />}
      <Loaded asked={asked}>
        {({ items, events }) => (
          <>
            <ul aria-label="Webhooks" className="mb-4 divide-y divide-line">
              {items.map((one) => (
                <Entry key={one.id} one={one} onSecret={setSecret} />
              ))}
              {items.length === 0 && <li className="py-2 text-dim text-sm">None yet.</li>}
            </ul>
            <Adding events={events} onSecret={setSecret} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

type EntryProps = { one: Webhook; onSecret: (secret: string) => void };

function Entry({ one, onSecret }: EntryProps) {
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const path = `/v1/webhooks/${encodeURIComponent(one.id)}` as const;
  const renew = { onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }), onError: tellProblem };
  const turn = useMutation({
    mutationFn: () => patch(path, { enabled: !one.enabled, revision: one.revision }),
    ...renew,
  });
  const rotate = useMutation({
    mutationFn: () => post(`${path}/rotate`),
    onSuccess: ({ secret }) => onSecret(secret ?? ""),
    ...renew,
  });
  const test = useMutation({ mutationFn: () => post(`${path}/test`), onSuccess: () => setOpen(true), ...renew });
  return (
    <>
      <Row path={path} word="Remove" renew="webhooks">
        <span className="min-w-0 break-words font-medium">{visible(one.name)}</span>
        <State one={one} />
        {one.kind === "slack" && <Badge>Slack</Badge>}
        <span className="min-w-0 break-all font-mono text-dim text-xs">{visible(one.url)}</span>
        <span className="text-dim text-xs">
          {one.events.join(", ")}
          {one.pending > 0 && `, ${one.pending} pending`}
        </span>
        {one.disabledReason && <span className="text-warn text-xs">Disabled: {visible(one.disabledReason)}</span>}
        <span className="flex flex-wrap gap-1.5">
          <Button size="small" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
            Deliveries
          </Button>
          <Button size="small" busy={test.isPending} disabled={!one.enabled} onClick={() => test.mutate()}>
            Send a test
          </Button>
          {one.kind === "standard" && (
            <Button size="small" busy={rotate.isPending} onClick={() => rotate.mutate()}>
              Rotate the secret
            </Button>
          )}
          <Button size="small" busy={turn.isPending} onClick={() => turn.mutate()}>
            {one.enabled ? "Disable" : "Enable"}
          </Button>
        </span>
      </Row>
      {isOpen && (
        <li className="py-2">
          <Deliveries webhook={one} />
        </li>
      )}
    </>
  );
}

function State({ one }: { one: Webhook }) {
  if (!one.enabled) return <Badge tone="bad">⊘ disabled</Badge>;
  if (!one.failingSince) return <Badge tone="ok">✓ enabled</Badge>;
  return (
    <>
      <Badge tone="warn">! failing</Badge>
      <span className="text-dim text-xs">
        since <Ago at={one.failingSince} />
      </span>
    </>
  );
}

type AddingProps = { events: string[]; onSecret: (secret: string) => void };

function Adding({ events, onSecret }: AddingProps) {
  const client = useQueryClient();
  const [kind, setKind] = useState<Webhook["kind"]>("standard");
  const [chosen, setChosen] = useState<string[]>(["interaction.requested"]);
  const add = useMutation({
    mutationFn: ({ name, url }: { name: string; url: string }) =>
      post("/v1/webhooks", { name, url, kind, events: chosen }),
    onSuccess: ({ secret }) => {
      onSecret(secret ?? "");
      void client.invalidateQueries({ queryKey: ["webhooks"] });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const entered = { name: String(given.get("name") ?? ""), url: String(given.get("url") ?? "") };
    add.mutate(entered, { onSuccess: () => form.reset() });
  };
  const turn = (type: string) =>
    setChosen(chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type]);
  return (
    <form onSubmit={submit} className="max-w-lg space-y-3 border-line border-t pt-4">
      {add.error ? <Trouble error={add.error} /> : null}
      <TextField name="name" label="Name of the new webhook" required maxLength={100} autoComplete="off" />
      <TextField name="url" label="URL" type="url" required maxLength={2000} autoComplete="off" />
      <div className="w-52">
        <Choice label="Kind" value={kind} onChange={(event) => setKind(event.target.value as Webhook["kind"])}>
          <option value="standard">signed JSON</option>
          <option value="slack">Slack message</option>
        </Choice>
      </div>
      <fieldset className="space-y-1.5">
        <legend className="mb-1 font-medium text-sm">Events</legend>
        {events.map((type) => (
          <Tick key={type} label={type} checked={chosen.includes(type)} onChange={() => turn(type)} />
        ))}
      </fieldset>
      <Button type="submit" busy={add.isPending} disabled={chosen.length === 0}>
        Add the webhook
      </Button>
    </form>
  );
}
