import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { remove } from "@/api/client";
import type { BrowserSession } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { ConfirmButton } from "@/ui/confirm";
import { Command } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tellProblem } from "@/ui/toast";
import { offered } from "../signin/offered";
import { browserName } from "./browsers";
import { sessions } from "./queries";
import { Row } from "./rows";

const path = (one: BrowserSession) => `/v1/auth/sessions/${encodeURIComponent(one.id)}` as const;

export function Sessions() {
  const asked = useQuery(sessions);
  const others = asked.data?.items.filter((one) => !one.current) ?? [];
  return (
    <>
      <Ways />
      <Section
        title="Where you are signed in"
        about="End sessions you don't recognise."
        actions={others.length > 0 && <EndOthers others={others} />}
      >
        <Loaded asked={asked}>
          {({ items }) => (
            <ul aria-label="Sessions" className="-my-2 divide-y divide-line">
              {[...items].sort(latestFirst).map((one) => (
                <Row
                  key={one.id}
                  path={one.current ? undefined : path(one)}
                  word="Sign out"
                  sure="Confirm sign-out"
                  renew="sessions"
                >
                  <span className="min-w-0 basis-52 break-words" title={visible(one.agent)}>
                    {browserName(one.agent)}
                  </span>
                  {one.current && <Badge tone="ok">✓ this browser</Badge>}
                  <span className="text-dim text-xs">
                    seen <Ago at={one.lastSeenAt} />, since <Ago at={one.createdAt} />, until <Ago at={one.expiresAt} />
                  </span>
                </Row>
              ))}
            </ul>
          )}
        </Loaded>
      </Section>
    </>
  );
}

const latestFirst = (one: BrowserSession, other: BrowserSession) =>
  Number(other.current) - Number(one.current) || other.lastSeenAt.localeCompare(one.lastSeenAt);

function EndOthers({ others }: { others: BrowserSession[] }) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => Promise.all(others.map((one) => remove(path(one)))),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] }),
    onError: tellProblem,
  });
  return (
    <ConfirmButton
      size="small"
      busy={end.isPending}
      sure={`Really sign out of ${others.length}?`}
      onConfirm={() => end.mutate()}
    >
      Sign out everywhere else
    </ConfirmButton>
  );
}

/** How anybody gets in here, so that there is no guessing. */
function Ways() {
  const provider = useQuery(offered).data;
  return (
    <Section title="Sign-in methods">
      <Facts
        facts={[
          [
            "Login link",
            <div key="link" className="space-y-2">
              <p>Works once, for ten minutes. Create it in a terminal on the machine where Executor runs:</p>
              <Command text="executor web" />
            </div>,
          ],
          ["Invitation", "A link for a new person; admins create it under Members."],
          [
            "Identity provider",
            provider?.offered ? (
              <code key="issuer" className="break-all font-mono text-xs">
                {visible(provider.issuer ?? "")}
              </code>
            ) : (
              <span key="none" className="text-dim">
                None. The operator can set <code className="font-mono text-xs">oidc_issuer</code> and{" "}
                <code className="font-mono text-xs">oidc_client_id</code>.
              </span>
            ),
          ],
        ]}
      />
    </Section>
  );
}
