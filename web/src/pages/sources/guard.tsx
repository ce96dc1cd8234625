import { type RefObject, useEffect, useRef, useState } from "react";
import type { Probe, Way } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Choice, TextField } from "@/ui/field";
import { inHeader, OWN_HEADER } from "../connect/ownheader";

/** What a source is read with. It is kept as its connection, and nowhere in the browser. */
export type Credential = { placements: Way["placements"]; values: Record<string, string> };

/** Takes what is typed, if all of it is. */
export type Take = () => Credential | null;
type Props = { probe: Probe; take: RefObject<Take | null>; onGive: (credential: Credential) => void };

/** A source that shows nothing without a credential: it is entered here, or the source is connected without it. */
export function Guard({ probe, take, onGive }: Props) {
  const shared = { sentTo: probe.sentTo ?? "", take, onGive };
  const ways = [...(probe.ways as Way[]).filter((way) => !way.oauth), OWN_HEADER];
  const login = (probe.ways as Way[]).some((way) => way.oauth);
  return (
    <section aria-label="Credential" className="space-y-3 rounded-lg bg-warn-soft p-4">
      <p className="text-sm">
        <b className="font-medium">It requires a credential before its tools can be read.</b>{" "}
        {login
          ? "Connect it, then sign in at the service: its tools appear after that."
          : "Enter it now, or connect the source without it and add it later."}
      </p>
      {login ? (
        <details className="text-sm">
          <summary>Use a token instead</summary>
          <div className="mt-3">
            <Values ways={[BEARER, OWN_HEADER]} {...shared} />
          </div>
        </details>
      ) : (
        <Values ways={ways} {...shared} />
      )}
    </section>
  );
}

const plain = { description: "", oauth: null, scopes: [] };
const token = [{ name: "token", label: "token", secret: true }];
const BEARER: Way = {
  ...plain,
  name: "bearer",
  scheme: "bearer",
  inputs: token,
  placements: [{ in: "header", name: "Authorization", template: "Bearer {token}" }],
};
/** Not a form of its own: it is part of the one that connects the source. Fields are emptied when they are read. */
function Values({ ways, sentTo, take, onGive }: Omit<Props, "probe"> & { ways: Way[]; sentTo: string }) {
  const fields = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const way = ways[at] ?? OWN_HEADER;
  const entries = () => [...(fields.current?.querySelectorAll("input") ?? [])];
  const read: Take = () => {
    const entered = entries();
    if (entered.some((one) => one.value.trim() === "")) return null;
    const { header, ...values } = Object.fromEntries(entered.map((one) => [one.name, one.value]));
    for (const one of entered) if (one.name !== "header") one.value = "";
    return { placements: way === OWN_HEADER ? inHeader(header ?? "") : way.placements, values };
  };
  useEffect(() => {
    take.current = read;
    return () => {
      take.current = null;
    };
  });
  const give = () => {
    const credential = read();
    if (credential) onGive(credential);
    else
      entries()
        .find((one) => one.value.trim() === "")
        ?.focus();
  };
  return (
    <div ref={fields} className="max-w-md space-y-3">
      <Choice label="How" value={at} onChange={(event) => setAt(Number(event.target.value))}>
        {ways.map((one, index) => (
          <option key={one.name} value={index}>
            {visible(one.name)}
            {one === OWN_HEADER ? "" : ` (${one.scheme.replace("_", " ")})`}
          </option>
        ))}
      </Choice>
      {way.description && <p className="text-dim text-sm">{visible(way.description)}</p>}
      {way === OWN_HEADER && <TextField name="header" label="Header" defaultValue="X-API-Key" spellCheck={false} />}
      {way.inputs.map((input) => (
        <TextField
          key={`${at} ${input.name}`}
          name={input.name}
          label={capital(visible(input.label))}
          type={input.secret ? "password" : "text"}
          autoComplete={input.secret ? "new-password" : "off"}
          spellCheck={false}
        />
      ))}
      <div className="flex flex-wrap items-center gap-3">
        <Button size="small" onClick={give}>
          Show its tools
        </Button>
        <span className="text-dim text-xs">
          Sent to <b className="break-words font-mono">{visible(sentTo)}</b> and nowhere else
        </span>
      </div>
    </div>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
