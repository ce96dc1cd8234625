import { useMutation, useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Problem, post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Interaction, Needs, Way } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextField, Tick } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Owner, type Scope } from "./owner";

type Props = { asked?: Interaction; needs: Pick<Needs, "source" | "connection">; way: Pick<Way, "scopes"> };

/** Off to the service's own sign-in page; it sends the browser back when consent is given. */
export function Login({ asked, needs, way }: Props) {
  const shared = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const [own, setOwn] = useState(false);
  const [scope, setScope] = useState<Scope>("workspace");
  const begin = useBeginning({
    source: needs.source,
    scopes: way.scopes,
    name: needs.connection,
    interactionId: asked?.id ?? "",
    scope: shared ? scope : "actor",
  });
  const server = privateServer(begin.error);
  const [allowed, setAllowed] = useState("");
  const servers = severalServers(begin.error);
  const [confirmed, setConfirmed] = useState<string[]>([]);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const given = (name: string) => String(entered.get(name) ?? "");
    const client = own ? { clientId: given("clientId"), clientSecret: given("clientSecret") } : {};
    begin.mutate({ ...client, ...(allowed ? { allowServer: allowed } : {}), confirmServers: confirmed });
  };
  return (
    <form onSubmit={submit} autoComplete="off" className="space-y-4">
      {begin.error ? <Trouble error={begin.error} /> : null}
      {server && shared && (
        <Tick
          checked={allowed === server}
          onChange={(event) => setAllowed(event.target.checked ? server : "")}
          label={`I know ${visible(server)}: it is the right server, on our network`}
        />
      )}
      {servers.map(({ origin, says }) => (
        <Tick
          key={says}
          checked={confirmed.includes(origin)}
          onChange={(event) =>
            setConfirmed((before) => [
              ...before.filter((one) => one !== origin),
              ...(event.target.checked ? [origin] : []),
            ])
          }
          label={`${visible(says)}: ${visible(origin)}. I know this server: it belongs to the service`}
        />
      ))}
      {way.scopes.length > 0 && (
        <p className="text-sm">
          It requests: <code className="font-mono text-xs">{way.scopes.map((one) => visible(one)).join(", ")}</code>
        </p>
      )}
      {shared && asked && <Owner asked={asked} scope={scope} onChoose={setScope} />}
      {own && (
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField name="clientId" label="Client ID" autoComplete="off" required />
          <TextField name="clientSecret" label="Client secret" type="password" autoComplete="new-password" />
        </div>
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={begin.isPending || begin.isSuccess}>
          Sign in at the service <ExternalLink size={14} aria-hidden="true" />
        </Button>
        {shared && (
          <Button look="ghost" aria-pressed={own} onClick={() => setOwn(!own)}>
            Use your own client
          </Button>
        )}
      </div>
    </form>
  );
}

type Extra = { clientId?: string; clientSecret?: string; allowServer?: string; confirmServers?: string[] };

type Wish = { source: string; scopes: string[]; name: string; interactionId: string; scope: Scope };

function useBeginning(wish: Wish) {
  return useMutation({
    gcTime: 0,
    mutationFn: (extra: Extra) => post("/v1/connections/oauth/start", { ...wish, ...extra }),
    onSuccess: ({ authorizationUrl }) => goTo(authorizationUrl),
  });
}

/** The address of a server that only an administrator's word makes usable. */
function privateServer(error: unknown): string {
  const named = error instanceof Problem ? error.details.server : undefined;
  return typeof named === "string" ? named : "";
}

type Named = { origin: string; says: string };

/** The servers of a login that is spread over several: a person confirms each of them by name. */
function severalServers(error: unknown): Named[] {
  const named = error instanceof Problem ? error.details.servers : undefined;
  return Array.isArray(named) ? (named as Named[]) : [];
}

/** Only ever to a web page: an address of another scheme would run here. */
function goTo(address: string): void {
  const target = new URL(address);
  if (target.protocol !== "https:" && target.protocol !== "http:") throw new Error("the service returned no web page");
  window.location.assign(target.href);
}
