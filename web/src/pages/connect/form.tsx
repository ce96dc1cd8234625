import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Interaction, Needs, Way } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Owner, type Scope } from "./owner";
import { inHeader, OWN_HEADER } from "./ownheader";

/** Values go out once, in the body of one request; nothing keeps them here, and nothing shows them again. */
export function CredentialForm({ asked, needs, way }: { asked: Interaction; needs: Needs; way: Way }) {
  const may = useQuery(whoami).data?.permissions ?? [];
  const shared = may.includes("administer");
  const [scope, setScope] = useState<Scope>("workspace");
  const client = useQueryClient();
  const give = useMutation({
    gcTime: 0,
    mutationFn: ({ header, ...values }: Record<string, string>) => {
      const own = way === OWN_HEADER;
      const placements = own ? inHeader(header ?? "") : way.name ? [] : way.placements;
      return post(`/v1/interactions/${asked.id}/credential`, {
        values,
        way: own ? "" : way.name,
        placements,
        name: needs.connection,
        scope: shared ? scope : "actor",
      });
    },
    onSuccess: (settled) => {
      client.setQueryData(["interaction", asked.id], { ...asked, ...settled });
      client.invalidateQueries({ queryKey: ["connections"] });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const entered = new FormData(form);
    const names = [...way.inputs.map(({ name }) => name), ...(way === OWN_HEADER ? ["header"] : [])];
    give.mutate(Object.fromEntries(names.map((name) => [name, String(entered.get(name) ?? "")])));
    form.reset();
  };
  return (
    <form onSubmit={submit} autoComplete="off" className="space-y-4">
      {give.error ? <Trouble error={give.error} /> : null}
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
          spellCheck={false}
          required
        />
      ))}
      {shared && <Owner asked={asked} scope={scope} onChoose={setScope} />}
      <Button type="submit" look="primary" busy={give.isPending}>
        Save and continue
      </Button>
    </form>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
