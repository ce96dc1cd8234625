import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useCallback, useRef, useState } from "react";
import { sources } from "@/api/queries";
import type { Probe, Source } from "@/api/types";
import { command, quoted } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { TextField, Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import type { Wish } from "./add";
import { Covering } from "./covering";
import { Failed } from "./failed";
import { FilterFields, filtersOf, NO_FILTERS, optionsOf } from "./filters";
import { follow, useProgress } from "./follow";
import { type Credential, Guard, type Take } from "./guard";
import { freeNamespace } from "./namespace";
import { Offer } from "./offer";
import type { Preview } from "./queries";
import { Working } from "./working";

type Chosen = { namespace: string; name: string; baseUrl: string };

/** What was found, what it would offer, what can still be changed, and the one button that connects it. */
export function Review({ probe, wish }: { probe: Probe; wish: Wish }) {
  const [consent, setConsent] = useState(false);
  const [inherit, setInherit] = useState(false);
  const known = useQuery(sources).data?.items ?? [];
  const [chosen, setChosen] = useState<Chosen>(() => chosenOf(probe, known));
  const [typed, setTyped] = useState(NO_FILTERS);
  const [tried, setTried] = useState(NO_FILTERS);
  const [groups, setGroups] = useState<Preview["groups"]>([]);
  const [trust, setTrust] = useState(false);
  const [given, setGiven] = useState<{ credential: Credential; tries: number } | null>(null);
  const give = (credential: Credential) => setGiven((before) => ({ credential, tries: (before?.tries ?? 0) + 1 }));
  const take = useRef<Take | null>(null);
  const read = useCallback((preview: Preview) => setGroups(preview.groups), []);
  const progress = useProgress();
  const connect = useConnect(
    wish,
    probe,
    { consent, inheritRules: inherit, ...filtersOf(typed), ...(trust ? { hints: "trust" } : {}) },
    progress.say,
  );
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = take.current?.() ?? null;
    if (typed) give(typed);
    connect.mutate({ ...chosen, credential: typed ?? given?.credential });
  };
  const runs = probe.transport === "stdio" || probe.kind === "python";
  const field = (name: keyof Chosen) => ({
    value: chosen[name],
    onChange: (event: { target: { value: string } }) => setChosen({ ...chosen, [name]: event.target.value }),
  });
  const asked = requestOf(wish, probe);
  const own = { placeholder: runs ? "From the server" : undefined };
  return (
    <Section title="2. Is this it?">
      <form onSubmit={submit} className="space-y-4">
        <Found probe={probe} />
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField label="Namespace" {...field("namespace")} hint="The first part of every tool's path" {...own} />
          <TextField label="Name" {...field("name")} hint="Display name" {...own} />
          {probe.kind !== "mcp" && probe.kind !== "python" && (
            <TextField label="Where calls are sent" {...field("baseUrl")} />
          )}
        </div>
        {runs && <Consent probe={probe} wish={wish} agreed={consent} onAgree={setConsent} />}
        {probe.guarded && <Guard probe={probe} take={take} onGive={give} />}
        {(!probe.guarded || given) && (
          <Offer
            body={{ ...asked, ...filtersOf(tried) }}
            given={given ?? undefined}
            runs={runs}
            agreed={consent}
            onRead={read}
          />
        )}
        <details className="text-sm">
          <summary className="font-medium">Choose tools</summary>
          <div className="mt-2 space-y-3">
            <FilterFields kind={probe.kind} typed={typed} onType={setTyped} groups={groups} />
            <Button size="small" onClick={() => setTried(typed)}>
              Show the selection
            </Button>
          </div>
        </details>
        {probe.kind === "mcp" && (
          <Tick
            checked={trust}
            onChange={() => setTrust(!trust)}
            label="Trust the server's read-only hints. Otherwise such tools need approval; you can decide later for each of them."
          />
        )}
        <Covering namespace={chosen.namespace.trim()} inherit={inherit} onInherit={setInherit} />
        {connect.error ? <Failed error={connect.error} wish={wish} /> : null}
        <div className="flex flex-wrap items-center gap-2">
          <Button type="submit" look="primary" busy={connect.isPending} disabled={runs && !consent}>
            {connect.isPending ? "Connecting…" : "Connect"}
          </Button>
          <Link to="/" className={looks("ghost")}>
            Cancel
          </Link>
          {connect.isPending && <Working text={progress.text || "connecting"} />}
        </div>
        <Command text={asCommand(wish, probe, chosen, [...optionsOf(typed), ...(trust ? ["--hints", "trust"] : [])])} />
      </form>
    </Section>
  );
}

type Agreed = { consent: boolean; inheritRules: boolean; include: string[]; exclude: string[]; hints?: string };

function useConnect(wish: Wish, probe: Probe, agreed: Agreed, say: (text: string) => void) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    gcTime: 0,
    mutationFn: ({ credential, ...chosen }: Chosen & { credential?: Credential }) => {
      const body = { ...requestOf(wish, probe), ...agreed, ...trimmed(chosen), credential };
      return follow<Source>("/v1/sources", body, say);
    },
    onSuccess: (source) => {
      client.invalidateQueries({ queryKey: ["sources"] });
      if (source.auth.length > 0) void navigate({ to: "/sources/add", search: { connected: source.namespace } });
      else void navigate({ to: "/sources/$id", params: { id: source.namespace } });
    },
  });
}

/** Exactly what was found: the address that was given may only have led to it. What is guarded is looked at again. */
function requestOf(wish: Wish, probe: Probe) {
  if (probe.guarded) return { ...wish, location: wish.location ?? "" };
  const given = wish.document !== undefined || wish.command;
  return { ...wish, location: (given ? wish.location : probe.location) ?? "", kind: probe.kind };
}

function chosenOf(probe: Probe, known: Source[]): Chosen {
  const taken = known.map((one) => one.namespace);
  return {
    namespace: freeNamespace(probe.namespace ?? "", taken),
    name: probe.name ?? "",
    baseUrl: probe.baseUrl ?? "",
  };
}

function trimmed({ namespace, name, baseUrl }: Chosen): Chosen {
  return { namespace: namespace.trim(), name: name.trim(), baseUrl: baseUrl.trim() };
}

function Consent({
  probe,
  wish,
  agreed,
  onAgree,
}: {
  probe: Probe;
  wish: Wish;
  agreed: boolean;
  onAgree: (agreed: boolean) => void;
}) {
  const what = wish.command?.map(quoted).join(" ") ?? probe.location ?? "";
  return (
    <div className="space-y-2 rounded-lg bg-warn-soft p-3">
      <pre className="whitespace-pre-wrap break-words font-mono text-xs">{visible(what)}</pre>
      <Tick
        checked={agreed}
        onChange={() => onAgree(!agreed)}
        label={wish.command ? "Run exactly this command on this machine" : "Import exactly this module into the daemon"}
      />
    </div>
  );
}

function Found({ probe }: { probe: Probe }) {
  return (
    <Facts
      facts={[
        [
          "Kind",
          <Badge key="kind" tone="accent">
            {probe.kind || "not known yet"}
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
          probe.auth.map((one) => `${visible(one.name)} (${visible(one.type)})`).join(", ") ||
            (probe.transport === "stdio" ? "" : "none required"),
        ],
        ["Note", visible(probe.note ?? "")],
        ["Warning", probe.warning ? <b key="warning">{visible(probe.warning)}</b> : ""],
      ]}
    />
  );
}

function asCommand(wish: Wish, probe: Probe, chosen: Chosen, options: string[]): string {
  const changed = chosen.namespace && chosen.namespace !== probe.namespace;
  const namespace = changed ? ["--namespace", chosen.namespace] : [];
  if (wish.command) return command("sources", "add", ...namespace, ...options, "--", ...wish.command);
  return command("sources", "add", wish.location ?? "./openapi.json", ...namespace, ...options);
}
