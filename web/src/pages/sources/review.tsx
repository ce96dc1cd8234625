import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { Probe, Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { TextField, Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import type { Wish } from "./add";

/** What was found, what can still be changed, and the one button that connects it. */
export function Review({ probe, wish }: { probe: Probe; wish: Wish }) {
  const [consent, setConsent] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const connect = useMutation({
    mutationFn: (chosen: { namespace: string; name: string; baseUrl: string }) =>
      post<Source>("/v1/sources", { ...wish, location: wish.location ?? "", kind: probe.kind, ...chosen, consent }),
    onSuccess: (source) => {
      client.invalidateQueries({ queryKey: ["sources"] });
      const needsCredential = source.auth.length > 0;
      void navigate({ to: needsCredential ? "/sources/$id/edit" : "/sources/$id", params: { id: source.namespace } });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const text = (name: string) => String(entered.get(name) ?? "").trim();
    connect.mutate({ namespace: text("namespace"), name: text("name"), baseUrl: text("baseUrl") });
  };
  const runs = wish.command && wish.command.length > 0;
  return (
    <Section title="2. Is this it?">
      <form onSubmit={submit} className="space-y-4">
        <Found probe={probe} />
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField
            name="namespace"
            label="Namespace"
            defaultValue={probe.namespace ?? ""}
            hint="The first part of every tool's path"
          />
          <TextField name="name" label="Name" defaultValue={probe.name ?? ""} />
          {probe.kind === "openapi" && (
            <TextField name="baseUrl" label="Where calls are sent" defaultValue={probe.baseUrl ?? ""} />
          )}
        </div>
        {runs && (
          <div className="space-y-2 rounded-lg bg-warn-soft p-3">
            <pre className="whitespace-pre-wrap break-words font-mono text-xs">
              {visible(wish.command?.join(" ") ?? "")}
            </pre>
            <Tick
              checked={consent}
              onChange={() => setConsent(!consent)}
              label="Run exactly this command on this machine"
            />
          </div>
        )}
        {connect.error ? <Trouble error={connect.error} /> : null}
        <div className="flex flex-wrap gap-2">
          <Button type="submit" look="primary" busy={connect.isPending} disabled={runs && !consent}>
            {connect.isPending ? "Connecting…" : "Connect"}
          </Button>
          <Link to="/" className={looks("ghost")}>
            Leave it
          </Link>
        </div>
        {wish.location && <Command text={command("sources", "add", wish.location)} />}
      </form>
    </Section>
  );
}

function Found({ probe }: { probe: Probe }) {
  return (
    <Facts
      facts={[
        [
          "Kind",
          <Badge key="kind" tone="accent">
            {probe.kind}
          </Badge>,
        ],
        [
          "Address",
          <code key="at" className="break-all font-mono text-xs">
            {visible(probe.location ?? "")}
          </code>,
        ],
        ["Transport", visible(probe.transport ?? "")],
        [
          "Credential",
          probe.auth.map((one) => `${visible(one.name)} (${visible(one.type)})`).join(", ") || "none is asked for",
        ],
        ["Note", visible(probe.note ?? "")],
      ]}
    />
  );
}
