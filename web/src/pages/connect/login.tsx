import { useMutation } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { Interaction, Needs, Way } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";

type Begun = { authorizationUrl: string };

/** Off to the service's own sign-in page; it sends the browser back when consent is given. */
export function Login({
  asked,
  needs,
  way,
}: {
  asked?: Interaction;
  needs: Pick<Needs, "source" | "connection">;
  way: Pick<Way, "scopes">;
}) {
  const [own, setOwn] = useState(false);
  const begin = useMutation({
    mutationFn: (client: { clientId?: string; clientSecret?: string }) =>
      post<Begun>("/v1/connections/oauth/start", {
        source: needs.source,
        scopes: way.scopes,
        name: needs.connection,
        interactionId: asked?.id ?? "",
        ...client,
      }),
    onSuccess: ({ authorizationUrl }) => goTo(authorizationUrl),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const given = (name: string) => String(entered.get(name) ?? "");
    begin.mutate(own ? { clientId: given("clientId"), clientSecret: given("clientSecret") } : {});
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      {begin.error ? <Trouble error={begin.error} /> : null}
      {way.scopes.length > 0 && (
        <p className="text-sm">
          It asks for: <code className="font-mono text-xs">{way.scopes.map((one) => visible(one)).join(", ")}</code>
        </p>
      )}
      {own && (
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField name="clientId" label="Client id" autoComplete="off" required />
          <TextField name="clientSecret" label="Client secret" type="password" autoComplete="new-password" />
        </div>
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={begin.isPending}>
          Sign in at the service <ExternalLink size={14} aria-hidden="true" />
        </Button>
        <Button look="ghost" aria-pressed={own} onClick={() => setOwn(!own)}>
          With a client of your own
        </Button>
      </div>
    </form>
  );
}

/** Only ever to a web page: an address of another scheme would run here. */
function goTo(address: string): void {
  const target = new URL(address);
  if (target.protocol !== "https:" && target.protocol !== "http:") throw new Error("the service named no web page");
  window.location.assign(target.href);
}
