import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client";
import { systemStatus, whoami } from "@/api/queries";
import type { Check } from "@/api/types";
import { duration } from "@/text/time";
import { visible } from "@/text/visible";
import { Badge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";

export function About() {
  const asked = useQuery(systemStatus);
  return (
    <>
      <Section title="This daemon">
        <Loaded asked={asked} rows={4}>
          {(status) => (
            <Facts
              facts={[
                ["Version", status.version],
                [
                  "Address",
                  <code key="at" className="font-mono text-xs">
                    {status.address}
                  </code>,
                ],
                ["Up for", duration(status.uptimeSeconds * 1000)],
                ["Connected", `${status.sources} sources, ${status.tools.toLocaleString("en")} tools`],
                ["Sandbox", `${status.sandbox.runtime}, ${status.sandbox.workers} workers`],
                [
                  "Sealed by",
                  status.sandbox.layers.map((layer) => visible(layer)).join(", ") || "nothing: see the checks below",
                ],
              ]}
            />
          )}
        </Loaded>
      </Section>
      <DoctorSection />
    </>
  );
}

const TONES: Record<Check["status"], [Tone, string]> = {
  ok: ["ok", "✓"],
  warning: ["warn", "!"],
  failure: ["bad", "✕"],
};

function DoctorSection() {
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const asked = useQuery({ queryKey: ["doctor"], queryFn: () => get<{ checks: Check[] }>("/v1/doctor"), enabled: may });
  if (!may) return null;
  const again = (
    <Button size="small" busy={asked.isFetching} onClick={() => void asked.refetch()}>
      Check again
    </Button>
  );
  return (
    <Section title="Checks" actions={again}>
      <Loaded asked={asked} rows={6}>
        {({ checks }) => (
          <ul className="space-y-2 text-sm">
            {checks.map((check) => (
              <li key={check.name} className="flex gap-3">
                <span className="w-18 shrink-0">
                  <Badge tone={TONES[check.status][0]}>
                    <span aria-hidden="true">{TONES[check.status][1]}</span> {check.status}
                  </Badge>
                </span>
                <span className="min-w-0 break-words">
                  <b className="font-medium">{visible(check.name)}</b>: {visible(check.message)}
                  {check.hint && check.status !== "ok" && <span className="block text-dim">{visible(check.hint)}</span>}
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
