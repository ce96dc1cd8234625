import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Address } from "@/api/client";
import { clients, whoami } from "@/api/queries";
import type { Agent, ClientPage, Key } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Choice, Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import { Reserved } from "@/ui/reserved";
import { Snippets, withToken } from "@/ui/snippets";
import { Loaded, Skeleton } from "@/ui/states";
import { Ago } from "@/ui/time";
import { Maker } from "./maker";
import { agents, keys } from "./queries";
import { Row } from "./rows";

const SCOPES: [string, string][] = [
  ["discover", "find and describe tools"],
  ["execute", "run code, under your policies"],
  ["read", "read everything in the workspace"],
];
const LIVES: [string, string][] = [
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "a year"],
  ["", "never expires"],
];

/** Both at once: what comes below would move if one of them came later. */
export function Keys() {
  const mine = useQuery(keys);
  const theirs = useQuery(agents);
  if (mine.isPending || theirs.isPending) return <Skeleton rows={10} />;
  return (
    <>
      <PersonalKeys />
      <Agents />
    </>
  );
}

function PersonalKeys() {
  const asked = useQuery(keys);
  const [scopes, setScopes] = useState<string[]>(["discover", "execute"]);
  const [days, setDays] = useState("90");
  const turn = (scope: string) =>
    setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope]);
  return (
    <Section
      title="API keys"
      about="Keys act for you, limited to their scopes. They can't approve, change policies or read secrets."
    >
      <Loaded asked={asked}>
        {({ items }) => (
          <ul aria-label="API keys" className="mb-4 divide-y divide-line">
            {items.map((key) => (
              <Entry key={key.id} one={key} path={`/v1/keys/${encodeURIComponent(key.id)}`} renew="keys">
                {key.scopes.map((scope) => (
                  <Badge key={scope} tone="accent" title={SCOPES.find(([name]) => name === scope)?.[1]}>
                    {scope}
                  </Badge>
                ))}
              </Entry>
            ))}
            {items.length === 0 && <li className="py-2 text-dim text-sm">None yet.</li>}
          </ul>
        )}
      </Loaded>
      <Maker what="key" path="/v1/keys" extra={{ scopes, expiresInDays: days ? Number(days) : null }} renew="keys">
        <fieldset className="space-y-1.5">
          <legend className="mb-1 font-medium text-sm">Scopes</legend>
          {SCOPES.map(([scope, about]) => (
            <Tick
              key={scope}
              label={`${about} (${scope})`}
              checked={scopes.includes(scope)}
              onChange={() => turn(scope)}
            />
          ))}
        </fieldset>
        <div className="w-52">
          <Choice label="Expires" value={days} onChange={(event) => setDays(event.target.value)}>
            {LIVES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </Choice>
        </div>
      </Maker>
    </Section>
  );
}

function Agents() {
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const asked = useQuery(agents);
  const client = useQuery(clients(""));
  return (
    <Section
      title="Agents"
      about="Each agent has its own token, so policies and the audit log can distinguish them. Agents can find tools and run code, nothing else."
    >
      {!may && <Reserved who="an admin">You can't create or revoke agents.</Reserved>}
      <Loaded asked={asked}>
        {({ items }) => (
          <ul aria-label="Agents" className="mb-4 divide-y divide-line">
            {items.map((agent) => (
              <Entry
                key={agent.id}
                one={agent}
                path={may && agent.prefix ? `/v1/agents/${encodeURIComponent(agent.id)}` : undefined}
                renew="agents"
              >
                {!agent.prefix && <span className="text-dim text-xs">its token is in the file agent.token</span>}
              </Entry>
            ))}
          </ul>
        )}
      </Loaded>
      {may && (
        <Maker
          what="agent"
          path="/v1/agents"
          extra={{}}
          renew="agents"
          use={(token) => client.data && <Snippets items={overHttp(client.data, token)} />}
        />
      )}
    </Section>
  );
}

/** A token that was just made is not kept on the daemon's machine, so a client sends it with its requests. */
function overHttp(page: ClientPage, token: string) {
  return withToken(page, token)
    .filter((client) => client.http)
    .map((client) => ({ ...client, stdio: null }));
}

type EntryProps = { one: Key | Agent; path?: Address<"delete">; renew: string; children: React.ReactNode };

function Entry({ one, path, renew, children }: EntryProps) {
  const over = one.expiresAt !== null && Date.parse(one.expiresAt) < Date.now();
  return (
    <Row path={one.revokedAt ? undefined : path} word="Revoke" renew={renew}>
      <span className="min-w-0 break-words font-medium">{visible(one.name)}</span>
      {one.prefix && <code className="font-mono text-dim text-xs">{one.prefix}…</code>}
      {one.revokedAt ? <Badge>⊘ revoked</Badge> : over ? <Badge tone="warn">! expired</Badge> : children}
      <span className="text-dim text-xs">
        created <Ago at={one.createdAt} />
        {one.prefix && (
          <>
            , used <Ago at={one.lastUsedAt} />
          </>
        )}
        {one.expiresAt && !over && !one.revokedAt && (
          <>
            , expires <Ago at={one.expiresAt} />
          </>
        )}
      </span>
    </Row>
  );
}
