import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client";
import type { Session } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Command } from "@/ui/copy";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { Row } from "./rows";

export function Sessions() {
  const asked = useQuery({ queryKey: ["sessions"], queryFn: () => get<{ items: Session[] }>("/v1/auth/sessions") });
  return (
    <Section title="Where you are signed in" about="End what you don't recognise.">
      <Loaded asked={asked}>
        {({ items }) => (
          <ul className="mb-4 divide-y divide-line">
            {items.map((one) => (
              <Row
                key={one.id}
                path={one.current ? undefined : `/v1/auth/sessions/${encodeURIComponent(one.id)}`}
                word="End"
                renew="sessions"
              >
                <span className="min-w-0 flex-1 break-words">{visible(one.agent) || "unknown browser"}</span>
                {one.current && <Badge tone="ok">this one</Badge>}
                <span className="text-dim text-xs">
                  seen <Ago at={one.lastSeenAt} />, until <Ago at={one.expiresAt} />
                </span>
              </Row>
            ))}
          </ul>
        )}
      </Loaded>
      <p className="mb-2 text-dim text-sm">To sign in another browser:</p>
      <Command text="executor login" />
    </Section>
  );
}
