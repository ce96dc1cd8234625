import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client";
import { systemStatus, whoami } from "@/api/queries";
import type { Check, SystemStatus } from "@/api/types";
import { duration } from "@/text/time";
import { visible } from "@/text/visible";
import { Badge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { Section } from "@/ui/page";
import { Reserved } from "@/ui/reserved";
import { Loaded } from "@/ui/states";
import { Sealing } from "./sealing";

export function About() {
  const asked = useQuery(systemStatus);
  return (
    <Loaded asked={asked} rows={12}>
      {(status) => (
        <>
          <Section title="This daemon">
            <Daemon status={status} />
          </Section>
          <Section title="Sandbox" about="Isolates code from everything except its tools.">
            <Sealing sandbox={status.sandbox} />
          </Section>
          <Section title="Licence and manual">
            <p className="text-dim text-sm">
              Executor is free software under the MIT licence. The manual is in the folder <code>docs</code> of its
              source; `executor --help` lists the commands, and /v1/openapi.json describes the API.
            </p>
          </Section>
          <DoctorSection />
        </>
      )}
    </Loaded>
  );
}

/** The name of the file that this page runs: another build has another one. */
function build(): string {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src ?? "";
  return /-([\w-]+)\.js$/.exec(script)?.[1] ?? "of a development server";
}

function Daemon({ status }: { status: SystemStatus }) {
  const code = (text: string) => (
    <code key={text} className="break-all font-mono text-xs">
      {visible(text)}
    </code>
  );
  return (
    <Facts
      facts={[
        ["Executor", status.version],
        ["Web UI", <>build {code(build())}</>],
        ["Python", status.python],
        ["Database", status.database],
        ["Address", code(status.address)],
        ["Up for", duration(status.uptimeSeconds * 1000)],
        ["Connected", `${status.sources} sources, ${status.tools.toLocaleString("en")} tools`],
      ]}
    />
  );
}

const TONES: Record<Check["status"], [Tone, string]> = {
  ok: ["ok", "✓"],
  warning: ["warn", "!"],
  failure: ["bad", "✕"],
};
const WORST: Check["status"][] = ["failure", "warning", "ok"];

function DoctorSection() {
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const asked = useQuery({ queryKey: ["doctor"], queryFn: () => get("/v1/doctor"), enabled: may });
  if (!may) return <Reserved who="an admin">You can't see the checks of this installation.</Reserved>;
  const again = (
    <Button size="small" busy={asked.isFetching} onClick={() => void asked.refetch()}>
      Check again
    </Button>
  );
  return (
    <Section title="Checks" about="Data directory, database, sandbox: their state, and what to fix." actions={again}>
      <Loaded asked={asked} rows={12}>
        {({ checks }) => (
          <ul aria-label="Checks" className="-my-1.5 divide-y divide-line text-sm">
            {[...checks]
              .sort((one, other) => WORST.indexOf(one.status) - WORST.indexOf(other.status))
              .map((check) => (
                <li
                  key={check.name}
                  className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 py-1.5 sm:grid-cols-[5.5rem_11rem_minmax(0,1fr)]"
                >
                  <span>
                    <Badge tone={TONES[check.status][0]}>
                      <span aria-hidden="true">{TONES[check.status][1]}</span> {check.status}
                    </Badge>
                  </span>
                  <span className="font-medium">{visible(check.name)}</span>
                  <span className="col-start-2 min-w-0 break-words text-dim sm:col-start-3">
                    {visible(check.message)}
                    {check.hint && check.status !== "ok" && (
                      <span className="block text-ink">Fix: {visible(check.hint)}</span>
                    )}
                  </span>
                </li>
              ))}
          </ul>
        )}
      </Loaded>
      <div className="mt-4">
        <Command text="executor doctor" />
      </div>
    </Section>
  );
}
