import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { get, post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Agent, Key } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { TextField, Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import { Loaded, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { Once } from "./once";
import { Row } from "./rows";

const SCOPES = ["discover", "execute", "read"] as const;
type Made = { name: string; token: string };

export function Keys() {
  const admin = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  return (
    <>
      <PersonalKeys />
      <Agents may={admin} />
    </>
  );
}

function PersonalKeys() {
  const asked = useQuery({ queryKey: ["keys"], queryFn: () => get<{ items: Key[] }>("/v1/keys") });
  const [scopes, setScopes] = useState<string[]>(["discover", "execute"]);
  const turn = (scope: string) =>
    setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope]);
  return (
    <Section
      title="API keys"
      about="They act for you, with no more than their scopes. None can approve, change rules or read secrets."
    >
      <Loaded asked={asked}>
        {({ items }) => (
          <ul className="mb-4 divide-y divide-line">
            {items.map((key) => (
              <Row
                key={key.id}
                path={key.revokedAt ? undefined : `/v1/keys/${encodeURIComponent(key.id)}`}
                word="Revoke"
                renew="keys"
              >
                <span className="font-medium">{visible(key.name)}</span>
                <code className="font-mono text-dim text-xs">{key.prefix}…</code>
                {key.revokedAt ? <Badge>revoked</Badge> : <Badge tone="accent">{key.scopes.join(", ")}</Badge>}
                <span className="text-dim text-xs">
                  used <Ago at={key.lastUsedAt} />
                  {key.expiresAt && (
                    <>
                      , expires <Ago at={key.expiresAt} />
                    </>
                  )}
                </span>
              </Row>
            ))}
          </ul>
        )}
      </Loaded>
      <Maker what="key" path="/v1/keys" extra={{ scopes }} renew="keys">
        <fieldset className="flex flex-wrap gap-4">
          <legend className="sr-only">Scopes</legend>
          {SCOPES.map((scope) => (
            <Tick key={scope} label={scope} checked={scopes.includes(scope)} onChange={() => turn(scope)} />
          ))}
        </fieldset>
      </Maker>
    </Section>
  );
}

function Agents({ may }: { may: boolean }) {
  const asked = useQuery({ queryKey: ["agents"], queryFn: () => get<{ items: Agent[] }>("/v1/agents") });
  return (
    <Section title="Agents" about="Each with a token of its own, so that rules and the record can tell them apart.">
      <Loaded asked={asked}>
        {({ items }) => (
          <ul className="mb-4 divide-y divide-line">
            {items.map((agent) => (
              <Row
                key={agent.id}
                path={
                  may && agent.prefix && !agent.revokedAt ? `/v1/agents/${encodeURIComponent(agent.id)}` : undefined
                }
                word="Revoke"
                renew="agents"
              >
                <span className="font-medium">{visible(agent.name)}</span>
                {agent.prefix && <code className="font-mono text-dim text-xs">{agent.prefix}…</code>}
                {agent.revokedAt && <Badge>revoked</Badge>}
                <span className="text-dim text-xs">
                  made <Ago at={agent.createdAt} />
                </span>
              </Row>
            ))}
          </ul>
        )}
      </Loaded>
      {may && <Maker what="agent" path="/v1/agents" extra={{}} renew="agents" />}
    </Section>
  );
}

type MakerProps = { what: string; path: string; extra: object; renew: string; children?: React.ReactNode };

function Maker({ what, path, extra, renew, children }: MakerProps) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (name: string) => post<Made>(path, { name, ...extra }),
    onSuccess: () => client.invalidateQueries({ queryKey: [renew] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(String(new FormData(event.currentTarget).get("name") ?? ""));
    event.currentTarget.reset();
  };
  return (
    <div className="max-w-lg space-y-3">
      {make.data && <Once title={`The token of ${visible(make.data.name)}`} text={make.data.token} />}
      {make.error ? <Trouble error={make.error} /> : null}
      <form onSubmit={submit} className="space-y-3">
        <TextField name="name" label={`Name of the new ${what}`} required maxLength={100} autoComplete="off" />
        {children}
        <Button type="submit" busy={make.isPending}>
          Make the {what}
        </Button>
      </form>
    </div>
  );
}
