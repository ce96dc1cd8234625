import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Interaction } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { AlwaysRule, type Rule } from "./always";

type Answer = { act: "approve"; scope: "once" | "execution" | "always"; rule?: Rule } | { act: "deny"; reason: string };

const CALM = 500; // what has just appeared can't be answered by a click or a key that was meant for something else

export function Decide({ asked, next }: { asked: Interaction; next: Interaction | undefined }) {
  const client = useQueryClient();
  const may = useQuery(whoami).data?.permissions ?? [];
  const settle = useMutation({
    mutationFn: ({ act, ...body }: Answer) => post<Interaction>(`/v1/interactions/${asked.id}/${act}`, body),
    onSuccess: (settled) => {
      client.setQueryData(["interaction", asked.id], { ...asked, ...settled });
      client.invalidateQueries({ queryKey: ["interactions"] });
      tell(settled.status === "approved" ? "Allowed" : "Denied");
    },
    onError: () => client.invalidateQueries({ queryKey: ["interaction", asked.id] }),
  });
  if (!may.includes("decide")) return <p className="text-dim text-sm">You may look at this, but not decide it.</p>;
  return (
    <div className="space-y-3">
      {settle.error ? <Trouble error={settle.error} /> : null}
      <Buttons asked={asked} busy={settle.isPending} onAnswer={settle.mutate} mayRule={may.includes("administer")} />
      {next && <p className="text-dim text-xs">More wait after this one.</p>}
    </div>
  );
}

type Props = { asked: Interaction; busy: boolean; onAnswer: (answer: Answer) => void; mayRule: boolean };

function Buttons({ asked, busy, onAnswer, mayRule }: Props) {
  const [armed, setArmed] = useState(false);
  const [always, setAlways] = useState(false);
  const calm = useCalm();
  const reason = useRef<HTMLInputElement>(null);
  const once = () => onAnswer({ act: "approve", scope: "once" });
  useHotkeys(
    {
      a: () => setArmed(true),
      y: () => armed && once(),
      n: () => setArmed(false),
      Escape: () => setArmed(false),
      d: () => reason.current?.focus(),
    },
    calm && !busy,
  );
  const deny = (event: FormEvent) => {
    event.preventDefault();
    onAnswer({ act: "deny", reason: reason.current?.value ?? "" });
  };
  const blocked = !calm || busy;
  const resend = asked.kind === "unknown_outcome";
  return (
    <>
      <form onSubmit={deny} className="flex flex-wrap items-end gap-2">
        <div className="min-w-0 flex-1 basis-52">
          <TextField
            ref={reason}
            label="Reason (the code gets to see it)"
            maxLength={2000}
            placeholder="optional"
            autoComplete="off"
          />
        </div>
        <Button type="submit" look="danger" disabled={blocked}>
          Deny
        </Button>
      </form>
      <div className="flex flex-wrap items-center gap-2 border-line border-t pt-3">
        <Button look="primary" disabled={blocked} onClick={once}>
          {resend ? "Send it again" : "Allow once"}
        </Button>
        {!resend && (
          <Button disabled={blocked} onClick={() => onAnswer({ act: "approve", scope: "execution" })}>
            Allow for this execution
          </Button>
        )}
        {!resend && mayRule && (
          <Button disabled={blocked} aria-expanded={always} onClick={() => setAlways(!always)}>
            Always allow…
          </Button>
        )}
        <p role="status" className="basis-full text-dim text-xs">
          {armed ? "Press y to allow this once, Esc to leave it." : "Keys: a then y allows once, d denies."}
        </p>
      </div>
      {always && (
        <AlwaysRule
          asked={asked}
          busy={blocked}
          onSave={(rule) => onAnswer({ act: "approve", scope: "always", rule })}
        />
      )}
    </>
  );
}

function useCalm(): boolean {
  const [calm, setCalm] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(true), CALM);
    return () => clearTimeout(timer);
  }, []);
  return calm;
}
