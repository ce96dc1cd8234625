import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { post } from "@/api/client";
import { clients } from "@/api/queries";
import type { Toolkit, ToolkitKey } from "@/api/types";
import { Once } from "@/pages/settings/once";
import { Row } from "@/pages/settings/rows";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Snippets, withToken } from "@/ui/snippets";
import { Loaded, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { keysOf } from "./queries";

type Props = { one: Toolkit; may: boolean };

export function Keys({ one, may }: Props) {
  const asked = useQuery(keysOf(one.slug));
  return (
    <Section
      title="Keys"
      about="Each is an agent of its own that reaches this toolkit and nothing else, wherever it is used."
    >
      <Loaded asked={asked}>
        {({ items }) => (
          <ul aria-label="Keys" className="mb-4 divide-y divide-line">
            {items.map((key) => (
              <Entry key={key.id} toolkit={one} one={key} may={may} />
            ))}
            {items.length === 0 && <li className="py-2 text-dim text-sm">None yet.</li>}
          </ul>
        )}
      </Loaded>
      {may && <Maker one={one} />}
    </Section>
  );
}

function Entry({ toolkit, one, may }: { toolkit: Toolkit; one: ToolkitKey; may: boolean }) {
  const path = `/v1/toolkits/${encodeURIComponent(toolkit.id)}/keys/${encodeURIComponent(one.id)}` as const;
  return (
    <Row path={may && !one.revokedAt ? path : undefined} word="Revoke" renew="toolkits">
      <span className="min-w-0 break-words font-medium">{visible(one.name)}</span>
      <code className="font-mono text-dim text-xs">{one.prefix}…</code>
      {one.revokedAt && <Badge>⊘ revoked</Badge>}
      <span className="text-dim text-xs">
        created <Ago at={one.createdAt} />, used <Ago at={one.lastUsedAt} />
      </span>
    </Row>
  );
}

/** The token is in that one answer, and nowhere afterwards. */
function Maker({ one }: { one: Toolkit }) {
  const client = useQueryClient();
  const snippets = useQuery(clients("", one.slug));
  const make = useMutation({
    gcTime: 0,
    mutationFn: (name: string) => post(`/v1/toolkits/${encodeURIComponent(one.id)}/keys`, { name }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["toolkits"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(String(new FormData(event.currentTarget).get("name") ?? ""));
    event.currentTarget.reset();
  };
  return (
    <div className="max-w-lg space-y-3">
      {make.data && (
        <Once title={`The token of ${visible(make.data.name)}`} text={make.data.token} onDone={() => make.reset()}>
          {snippets.data && <Snippets items={overHttp(withToken(snippets.data, make.data.token))} />}
        </Once>
      )}
      {make.error ? <Trouble error={make.error} /> : null}
      <form onSubmit={submit} className="space-y-3 border-line border-t pt-4">
        <TextField name="name" label="Name of the new key" required maxLength={100} autoComplete="off" />
        <Button type="submit" busy={make.isPending}>
          Create the key
        </Button>
      </form>
      <p className="text-dim text-xs">To connect a client on the machine of the daemon, with a key of its own:</p>
      <Command text={command("connect", "CLIENT", "--toolkit", one.slug)} />
    </div>
  );
}

/** The token is not kept on the daemon's machine, so a client sends it with its requests. */
function overHttp(items: ReturnType<typeof withToken>) {
  return items.filter(({ http }) => http).map((one) => ({ ...one, stdio: null, install: null }));
}
