import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Problem, post } from "@/api/client";
import { clients, whoami } from "@/api/queries";
import type { Client } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Section } from "@/ui/page";
import { Snippets, withToken } from "@/ui/snippets";
import { Loaded, Trouble } from "@/ui/states";

type Made = { client: string; name: string; token: string };

export function Agents() {
  const may = useQuery(whoami).data?.permissions ?? [];
  const make = useMutation({ mutationFn: (client: Client) => makeAgent(client.id, may.includes("operate")) });
  const asked = useQuery(clients(""));
  const own = useQuery(clients(make.data && may.includes("operate") ? make.data.name : "")).data;
  const filled = make.data && own ? withToken(own, make.data.token) : [];
  const isFor = (client: Client) => client.id === make.data?.client;
  return (
    <Section
      title="Connect your agent"
      about="Adds two tools (less than 500 tokens) to your agent's context, however much you connect."
    >
      <Loaded asked={asked}>
        {(page) => (
          <Snippets items={page.items.map((one) => filled.find((two) => isFor(two) && two.id === one.id) ?? one)}>
            {(client) =>
              make.data && isFor(client) ? (
                <Identity made={make.data} />
              ) : (
                <Offer
                  client={client}
                  may={may.includes("administer")}
                  busy={make.isPending}
                  error={make.error}
                  onMake={() => make.mutate(client)}
                />
              )
            }
          </Snippets>
        )}
      </Loaded>
    </Section>
  );
}

type OfferProps = { client: Client; may: boolean; busy: boolean; error: unknown; onMake: () => void };

function Offer({ client, may, busy, error, onMake }: OfferProps) {
  if (!may)
    return (
      <p className="text-dim text-xs">
        Replace the token with one of your keys:{" "}
        <Link to="/settings" search={{ tab: "keys" }} className="text-accent underline">
          Create a key
        </Link>
        . It can't approve anything.
      </p>
    );
  return (
    <div className="space-y-2">
      {error ? <Trouble error={error} /> : null}
      <Button size="small" busy={busy} onClick={onMake}>
        Create an agent for {client.name}
      </Button>
      <p className="text-dim text-xs">
        It gets its own name and token, so you can see what it did and write policies for it. Its token can't approve
        anything.
      </p>
    </div>
  );
}

function Identity({ made }: { made: Made }) {
  return (
    <p role="status" className="text-sm">
      The client acts as agent <strong>{visible(made.name)}</strong>. If you connect over HTTP, copy the text now: its
      token is shown only once.
    </p>
  );
}

/** Named like the client; with a number if there is one already. */
async function makeAgent(client: string, keepToken: boolean, number = 1): Promise<Made> {
  const name = number > 1 ? `${client}-${number}` : client;
  try {
    return { ...(await post("/v1/agents", { name, keepToken })), client };
  } catch (error) {
    if (error instanceof Problem && error.code === "conflict" && number < 50)
      return makeAgent(client, keepToken, number + 1);
    throw error;
  }
}
