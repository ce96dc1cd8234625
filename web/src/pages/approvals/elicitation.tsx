import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { Elicitation, Interaction } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { visible } from "@/text/visible";
import { Button, looks } from "@/ui/button";
import { Trouble } from "@/ui/states";
import { useCalm } from "./calm";
import { type Inbox, Settler } from "./decide";
import { contentOf, FormField } from "./formfield";

type Answer = { action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> };

/** What the server asks, and below it the way to answer. Of anything else, nothing. */
export function ServerRequest({ asked, inbox }: { asked: Interaction; inbox?: Inbox }) {
  if (!asked.elicitation) return null;
  return (
    <div className="space-y-4">
      <ServerWords asked={asked} />
      {asked.status === "pending" && (
        <Settler asked={asked}>{() => <AnswerElicitation {...{ asked, inbox }} />}</Settler>
      )}
    </div>
  );
}

/** Marked as the server's words: it may say anything. */
function ServerWords({ asked }: { asked: Interaction }) {
  const { elicitation } = asked;
  if (!elicitation) return null;
  return (
    <section aria-label="What the server asks" className="rounded-lg border border-line bg-raised/60 px-4 py-3">
      <h3 className="text-dim text-xs">The server {visible(asked.source ?? "")} says:</h3>
      <blockquote className="mt-1 whitespace-pre-line break-words text-sm">
        {visible(elicitation.message, "\n")}
      </blockquote>
      <p className="mt-2 text-dim text-xs">
        These are its words, not Executor's. Your answer goes to the server, and is not stored here.
      </p>
    </section>
  );
}

/** A form or a page of the server's, answered in one of three ways, once. */
function AnswerElicitation({ asked, inbox }: { asked: Interaction; inbox?: Inbox }) {
  const navigate = useNavigate();
  const send = useAnswering(asked);
  const blocked = !useCalm() || send.isPending || send.isSuccess;
  useHotkeys({ Escape: () => void navigate({ to: "/approvals", search: inbox?.wanted }) }, Boolean(inbox));
  const { elicitation } = asked;
  if (!elicitation) return null;
  const refused = Boolean(asked.refusal);
  const answer = (given: Answer) => !blocked && send.mutate(given);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = elicitation.fields;
    answer({ action: "accept", content: contentOf(fields, new FormData(event.currentTarget)) });
  };
  const rest = (
    <>
      <Button look="danger" disabled={blocked} onClick={() => answer({ action: "decline" })}>
        Decline
      </Button>
      <Button look="ghost" disabled={blocked} onClick={() => answer({ action: "cancel" })}>
        Dismiss
      </Button>
    </>
  );
  const shown = elicitation.url ? (
    <PageOf elicitation={elicitation} blocked={blocked || refused} onDone={() => answer({ action: "accept" })}>
      {rest}
    </PageOf>
  ) : (
    <form onSubmit={submit} autoComplete="off" className="space-y-4">
      <SecretWarning elicitation={elicitation} />
      {elicitation.fields.map((field) => (
        <FormField key={field.name} field={field} />
      ))}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" disabled={blocked || refused} busy={send.isPending}>
          Send answer
        </Button>
        {rest}
      </div>
    </form>
  );
  return (
    <div className="space-y-3">
      {send.error ? <Trouble error={send.error} /> : null}
      {shown}
    </div>
  );
}

/** No form may ask for these: the operator of the server reads what is typed here. */
function SecretWarning({ elicitation }: { elicitation: Elicitation }) {
  const names = elicitation.fields.filter((one) => one.looksSecret).map((one) => visible(one.title || one.name));
  if (names.length === 0) return null;
  return (
    <p role="note" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      The server seems to ask for a secret: <b className="break-words">{names.join(", ")}</b>. Don't enter passwords,
      keys or codes here. Servers must ask for those on a page of their own.
    </p>
  );
}

type PageProps = { elicitation: Elicitation; blocked: boolean; onDone: () => void; children: React.ReactNode };

/** The whole address is shown before anything is opened, and only a click opens it. */
function PageOf({ elicitation, blocked, onDone, children }: PageProps) {
  const [opened, setOpened] = useState(false);
  const url = elicitation.url ?? "";
  if (!/^https?:\/\//.test(url)) return <p role="alert">The address can't be opened.</p>;
  return (
    <div className="space-y-3">
      <p className="text-sm">
        The server wants you to visit a page on <b className="break-all font-mono">{visible(elicitation.host ?? "")}</b>
        . Open it only if you trust this host.
      </p>
      <code className="block break-all rounded-lg border border-line bg-raised/60 px-3 py-2 font-mono text-xs">
        {visible(url)}
      </code>
      <div className="flex flex-wrap items-center gap-2">
        <a
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          className={looks(opened ? "plain" : "primary")}
          onClick={() => setOpened(true)}
        >
          <ExternalLink size={14} aria-hidden="true" /> Open the page
        </a>
        <Button look={opened ? "primary" : "plain"} disabled={blocked} onClick={onDone}>
          I'm done there: continue
        </Button>
        {children}
      </div>
    </div>
  );
}

function useAnswering(asked: Interaction) {
  const client = useQueryClient();
  return useMutation({
    gcTime: 0,
    mutationFn: (given: Answer) => post(`/v1/interactions/${asked.id}/answer`, given),
    onSuccess: (settled) => {
      client.setQueryData(["interaction", asked.id], { ...asked, ...settled });
      client.invalidateQueries({ queryKey: ["execution", asked.executionId] });
    },
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["interactions"] });
      client.invalidateQueries({ queryKey: ["interaction", asked.id] });
    },
  });
}
