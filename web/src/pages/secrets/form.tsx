import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { Secret } from "@/api/types";
import { command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice, TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";

type Provider = Secret["provider"];

const PROVIDERS: [Provider, string][] = [
  ["store", "Executor's encrypted store"],
  ["keyring", "The system keyring"],
  ["environment", "An environment variable of the daemon"],
  ["vault", "HashiCorp Vault or OpenBao"],
  ["onepassword", "1Password"],
];
const REFERENCES: Partial<Record<Provider, [string, string]>> = {
  environment: ["EXECUTOR_SECRET_MAIL", "Only variables that start with EXECUTOR_SECRET_, or that the settings list"],
  vault: ["secret/apps/db#password", "MOUNT/PATH#FIELD"],
  onepassword: ["op://vault/item/field", "As shown in 1Password"],
};

/** A value goes out once, in the body of one request: nothing here keeps it, and no answer has it. */
export function SecretForm({ secret, onDone }: { secret?: Secret; onDone: () => void }) {
  const [name, setName] = useState(secret?.name ?? "");
  const [provider, setProvider] = useState<Provider>(secret?.provider ?? "store");
  const save = useSaving(secret, name, provider, onDone);
  const elsewhere = REFERENCES[provider];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const field = elsewhere ? "reference" : "value";
    save.mutate({ [field]: String(new FormData(form).get(field) ?? "") });
    if (!elsewhere) form.reset();
  };
  const words = secret ? ["secrets", "rotate", name] : ["secrets", "set", name || "NAME"];
  const place = elsewhere ? [...(secret ? [] : ["--provider", provider]), "--reference", elsewhere[0]] : [];
  return (
    <form onSubmit={submit} autoComplete="off" className="space-y-4">
      {!secret && (
        <>
          <TextField
            label="Name"
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            maxLength={100}
            spellCheck={false}
            autoComplete="off"
            hint="Letters, digits, dots, dashes and underscores"
            className="font-mono"
          />
          <Choice label="Stored in" value={provider} onChange={(event) => setProvider(event.target.value as Provider)}>
            {PROVIDERS.map(([id, title]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </Choice>
        </>
      )}
      {elsewhere ? <Where hint={elsewhere} now={secret?.reference ?? ""} /> : <Value />}
      {save.error ? <Trouble error={save.error} /> : null}
      <Button type="submit" look="primary" busy={save.isPending}>
        {secret ? "Rotate" : "Save"}
      </Button>
      <Command
        text={command(...words, ...place, ...(provider === "keyring" && !secret ? ["--provider", provider] : []))}
      />
    </form>
  );
}

function useSaving(secret: Secret | undefined, name: string, provider: Provider, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    gcTime: 0,
    mutationFn: (body: Record<string, string>) =>
      secret
        ? post(`/v1/secrets/${encodeURIComponent(secret.name)}/rotate`, body)
        : post("/v1/secrets", { ...body, name, provider }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["secrets"] });
      tell(secret ? "Secret rotated" : "Secret saved");
      onDone();
    },
  });
}

function Value() {
  return (
    <TextField
      name="value"
      label="Value"
      type="password"
      autoComplete="new-password"
      data-1p-ignore
      data-lpignore="true"
      spellCheck={false}
      required
      hint="It can't be shown again"
    />
  );
}

function Where({ hint, now }: { hint: [string, string]; now: string }) {
  return (
    <TextField
      name="reference"
      label="Reference"
      defaultValue={now}
      placeholder={hint[0]}
      hint={hint[1]}
      required
      spellCheck={false}
      autoComplete="off"
      className="font-mono"
    />
  );
}
