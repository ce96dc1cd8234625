import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { post, remove } from "@/api/client";
import { connections, readWays } from "@/api/queries";
import type { Connection, Source, Way } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm";
import { Choice, TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tell, tellProblem } from "@/ui/toast";
import { Login } from "../connect/login";
import { inHeader, OWN_HEADER } from "../connect/ownheader";
import type { Credential } from "./guard";

/** The credentials of a source, by name. Values are entered once and never shown again. */
export function Connections({ source }: { source: Source }) {
  const known = (useQuery(connections).data?.items ?? []).filter((one) => one.source === source.namespace);
  const ways = useQuery({
    queryKey: ["connections", "ways", source.id],
    queryFn: () => readWays(source.namespace),
    retry: false,
  }).data;
  return (
    <Section title="Credentials" about={ways?.sentTo ? `Sent to ${visible(ways.sentTo)} and nowhere else` : undefined}>
      {known.length === 0 && (
        <p className="mb-3 text-dim text-sm">
          {source.auth.length ? "It requires a credential, and has none yet." : "It requires no credential."}
        </p>
      )}
      <ul className="mb-4 divide-y divide-line">
        {known.map((one) => (
          <Known key={one.id} connection={one} />
        ))}
      </ul>
      {ways && ways.items.length > 0 && (
        <Give source={source} ways={source.unread ? [...ways.items, OWN_HEADER] : ways.items} />
      )}
    </Section>
  );
}

function Known({ connection }: { connection: Connection }) {
  const client = useQueryClient();
  const renew = () => client.invalidateQueries({ queryKey: ["connections"] });
  const path = `/v1/connections/${encodeURIComponent(connection.id)}` as const;
  const test = useMutation({
    mutationFn: () => post(`${path}/test`),
    onSuccess: (done) => {
      tell(`${capital(done.outcome)}: ${visible(done.error ?? done.checked)}`, done.outcome !== "ok");
      renew();
    },
    onError: tellProblem,
  });
  const gone = useMutation({ mutationFn: () => remove(path), onSuccess: renew, onError: tellProblem });
  return (
    <li className="flex flex-wrap items-center gap-2 py-2 text-sm">
      <span className="font-medium">{visible(connection.name)}</span>
      <Badge tone={connection.status === "ready" ? "ok" : "bad"}>{connection.status}</Badge>
      <Badge>{connection.scheme.replace("_", " ")}</Badge>
      <span className="text-dim text-xs">
        {connection.scope === "workspace" ? "everyone" : "one actor"} · used <Ago at={connection.lastUsedAt} />
      </span>
      <span className="ml-auto flex gap-1">
        <Button size="small" busy={test.isPending} onClick={() => test.mutate()}>
          Test
        </Button>
        <ConfirmButton size="small" sure="Remove permanently" busy={gone.isPending} onConfirm={() => gone.mutate()}>
          Remove
        </ConfirmButton>
      </span>
      {connection.error && <span className="basis-full text-bad text-xs">{visible(connection.error)}</span>}
    </li>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Give({ source, ways }: { source: Source; ways: Way[] }) {
  const [at, setAt] = useState(0);
  const client = useQueryClient();
  const way = ways[at] ?? ways[0];
  const add = useMutation({
    mutationFn: (body: Pick<Credential, "values"> & { way?: string; placements?: Way["placements"]; name: string }) =>
      post("/v1/connections", { source: source.namespace, replace: true, ...body }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["connections"] });
      client.invalidateQueries({ queryKey: ["sources"] });
      tell("Credential saved");
    },
  });
  if (!way) return null;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const values = Object.fromEntries(way.inputs.map(({ name }) => [name, String(entered.get(name) ?? "")]));
    const sent = way === OWN_HEADER ? { placements: inHeader(String(entered.get("header") ?? "")) } : { way: way.name };
    add.mutate({ values, ...sent, name: String(entered.get("connectionName") ?? "") });
    event.currentTarget.reset();
  };
  const choice = ways.length > 1 && (
    <Choice label="How" value={at} onChange={(event) => setAt(Number(event.target.value))}>
      {ways.map((one, index) => (
        <option key={`${one.name} ${one.scheme}`} value={index}>
          {visible(one.name)}
          {one !== OWN_HEADER && ` (${one.oauth ? "sign in at the service" : one.scheme.replace("_", " ")})`}
        </option>
      ))}
    </Choice>
  );
  if (way.oauth)
    return (
      <div className="max-w-md space-y-3">
        {choice}
        <Login needs={{ source: source.namespace, connection: "" }} way={way} />
      </div>
    );
  return (
    <form key={at} onSubmit={submit} autoComplete="off" className="max-w-md space-y-3 border-line border-t pt-4">
      {choice}
      {add.error ? <Trouble error={add.error} /> : null}
      {way === OWN_HEADER && (
        <TextField name="header" label="Header" defaultValue="X-API-Key" spellCheck={false} required />
      )}
      {way.inputs.map((input) => (
        <TextField
          key={input.name}
          name={input.name}
          label={capital(visible(input.label))}
          type={input.secret ? "password" : "text"}
          autoComplete={input.secret ? "new-password" : "off"}
          required
        />
      ))}
      <TextField name="connectionName" label="Name (optional)" placeholder="default" />
      <Button type="submit" look="primary" busy={add.isPending}>
        Save the credential
      </Button>
    </form>
  );
}
