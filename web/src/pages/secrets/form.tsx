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

const PROVIDERS: [Secret["provider"], string][] = [
  ["store", "Executor's encrypted store"],
  ["keyring", "The keyring of the system"],
  ["environment", "A variable of the daemon's environment"],
  ["vault", "HashiCorp Vault or OpenBao"],
  ["onepassword", "1Password"],
];
const REFERENCES: Partial<Record<Secret["provider"], string>> = {
  environment: "NAME_OF_THE_VARIABLE",
  vault: "secret/data/path#field",
  onepassword: "op://vault/item/field",
};

export function SecretForm({ secret, onDone }: { secret?: Secret; onDone: () => void }) {
  const [provider, setProvider] = useState<Secret["provider"]>(secret?.provider ?? "store");
  const client = useQueryClient();
  const elsewhere = REFERENCES[provider];
  const save = useMutation({
    mutationFn: (body: Record<string, string>) =>
      secret
        ? post(`/v1/secrets/${encodeURIComponent(secret.name)}/rotate`, body)
        : post("/v1/secrets", { ...body, provider }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["secrets"] });
      tell(secret ? "The secret has a new value" : "The secret is kept");
      onDone();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const body = Object.fromEntries(
      [...entered].filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]),
    );
    save.mutate(body);
  };
  return (
    <form onSubmit={submit} autoComplete="off" className="space-y-4">
      {!secret && (
        <TextField name="name" label="Name" required maxLength={100} spellCheck={false} className="font-mono" />
      )}
      {!secret && (
        <Choice
          label="Kept in"
          value={provider}
          onChange={(event) => setProvider(event.target.value as Secret["provider"])}
        >
          {PROVIDERS.map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </Choice>
      )}
      {elsewhere ? (
        <TextField name="reference" label="Where it is" placeholder={elsewhere} required className="font-mono" />
      ) : (
        <TextField
          name="value"
          label="Value"
          type="password"
          autoComplete="new-password"
          required
          hint="It can't be looked at again"
        />
      )}
      {save.error ? <Trouble error={save.error} /> : null}
      <Button type="submit" look="primary" busy={save.isPending}>
        {secret ? "Rotate" : "Keep it"}
      </Button>
      <Command text={secret ? command("secrets", "rotate", secret.name) : "executor secrets set NAME"} />
    </form>
  );
}
