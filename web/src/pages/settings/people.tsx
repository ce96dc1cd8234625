import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { patch, post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Member } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Choice, TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Reserved } from "@/ui/reserved";
import { Loaded, Skeleton, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tellProblem } from "@/ui/toast";
import { Once } from "./once";
import { invitations, members, separation } from "./queries";
import { Row } from "./rows";

const ROLES = ["viewer", "member", "admin", "owner"] as const;

/** All at once: what comes below would move if one part came later. */
export function People() {
  const may = useQuery(whoami).data?.permissions.includes("manage") ?? false;
  const known = useQuery(members);
  const asked = useQuery({ ...invitations, enabled: may });
  const separated = useQuery(separation);
  if (known.isPending || separated.isPending || (may && asked.isPending)) return <Skeleton rows={8} />;
  return (
    <>
      <Members may={may} />
      <Separation may={may} />
      {may ? <Invitations /> : <Reserved who="an admin">You can't invite people or change roles.</Reserved>}
    </>
  );
}

function Members({ may }: { may: boolean }) {
  const asked = useQuery(members);
  const me = useQuery(whoami).data?.accountId;
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: ({ id, role }: { id: string; role: Member["role"] }) =>
      patch(`/v1/members/${encodeURIComponent(id)}`, { role }),
    onSettled: () => client.invalidateQueries({ queryKey: ["members"] }),
    onError: tellProblem,
  });
  return (
    <Section
      title="Members"
      about="Viewers can read; members can run code and decide; admins can connect sources and create policies; owners manage the organization."
    >
      <Loaded asked={asked}>
        {({ items }) => (
          <ul aria-label="Members" className="-my-2 divide-y divide-line">
            {items.map((member) => (
              <Row
                key={member.accountId}
                path={
                  may && member.accountId !== me ? `/v1/members/${encodeURIComponent(member.accountId)}` : undefined
                }
                word="Remove"
                sure="Confirm removal"
                renew="members"
              >
                <span className="flex min-w-0 max-w-full flex-wrap items-center gap-x-2.5 sm:w-80">
                  <span className="min-w-0 break-words font-medium">{visible(member.name)}</span>
                  {member.accountId === me && <Badge tone="ok">✓ you</Badge>}
                  <span className="min-w-0 break-words text-dim text-xs">{visible(member.email)}</span>
                </span>
                {may && member.accountId !== me ? (
                  <div className="w-28">
                    <Choice
                      hideLabel
                      label={`Role of ${visible(member.name)}`}
                      value={member.role}
                      onChange={(event) =>
                        change.mutate({ id: member.accountId, role: event.target.value as Member["role"] })
                      }
                    >
                      {ROLES.map((role) => (
                        <option key={role}>{role}</option>
                      ))}
                    </Choice>
                  </div>
                ) : (
                  <Badge>{member.role}</Badge>
                )}
              </Row>
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  );
}

const SEPARATIONS = {
  default: "Default: destructive calls, once there is a second person",
  off: "Off: people can approve their own requests",
  destructive: "Destructive calls",
  all: "All calls that need approval",
} as const;

type Duties = "default" | "off" | "destructive" | "all";

function Separation({ may }: { may: boolean }) {
  const asked = useQuery(separation);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (choice: Duties) => patch("/v1/separation", { separation: choice }),
    onSettled: () => client.invalidateQueries({ queryKey: ["separation"] }),
    onError: tellProblem,
  });
  return (
    <Section title="Separation of duties" about="Which calls must be approved by someone other than the requester.">
      <Loaded asked={asked} rows={1}>
        {({ separation: chosen }) => (
          <Choice
            hideLabel
            label="Separation of duties"
            value={chosen}
            disabled={!may}
            onChange={(event) => change.mutate(event.target.value as Duties)}
          >
            {Object.entries(SEPARATIONS).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </Choice>
        )}
      </Loaded>
    </Section>
  );
}

function Invitations() {
  const asked = useQuery(invitations);
  const client = useQueryClient();
  const invite = useMutation({
    mutationFn: (body: { role: Member["role"]; email: string }) => post("/v1/invitations", body),
    onSuccess: () => client.invalidateQueries({ queryKey: ["invitations"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    invite.mutate({ role: String(entered.get("role")) as Member["role"], email: String(entered.get("email") ?? "") });
  };
  return (
    <Section title="Invitations" about="A link that adds one person. Executor does not send it: share it yourself.">
      <Loaded asked={asked} rows={1}>
        {({ items }) => (
          <ul aria-label="Invitations" className="mb-4 divide-y divide-line">
            {items
              .filter((one) => one.status === "open")
              .map((one) => (
                <Row
                  key={one.id}
                  path={`/v1/invitations/${encodeURIComponent(one.id)}`}
                  word="Revoke"
                  renew="invitations"
                >
                  <span>{visible(one.email) || "anyone with the link"}</span>
                  <Badge>{one.role}</Badge>
                  <span className="text-dim text-xs">
                    expires <Ago at={one.expiresAt} />
                  </span>
                </Row>
              ))}
          </ul>
        )}
      </Loaded>
      {invite.data && <Once title="The link" text={invite.data.url} onDone={() => invite.reset()} />}
      {invite.error ? <Trouble error={invite.error} /> : null}
      <form onSubmit={submit} className="mt-3 grid max-w-lg items-end gap-3 sm:grid-cols-[minmax(0,1fr)_8rem_auto]">
        <TextField name="email" type="email" label="E-mail (of the invited person)" autoComplete="off" />
        <Choice name="role" label="Role" defaultValue="member">
          {ROLES.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </Choice>
        <Button type="submit" busy={invite.isPending}>
          Create a link
        </Button>
      </form>
    </Section>
  );
}
