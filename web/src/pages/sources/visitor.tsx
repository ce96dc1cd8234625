import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { anonymousWorkspace } from "@/api/queries";
import { AgentKey } from "@/shell/visitor";
import { looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";

const ADD = 'await tools.executor.sources.add({ url: "https://…/openapi.json", namespace: "shop" })';

/** What a browser without an account sees besides its sources. */
export function VisitorSources({ empty }: { empty: boolean }) {
  return (
    <>
      {empty && <VisitorStart />}
      <Section title="Connect your agent" about="Adds two tools to your agent's context, however much you connect.">
        <AgentKey />
      </Section>
    </>
  );
}

/** What an anonymous workspace without sources can do, which depends on the operator. */
function VisitorStart() {
  const asked = useQuery(anonymousWorkspace);
  return (
    <section aria-label="Get started" className="card mb-5 px-6 py-8">
      <h2 className="font-semibold text-lg">Nothing is connected yet</h2>
      <Loaded asked={asked} rows={3}>
        {({ sources }) => (
          <div className="mt-1 max-w-2xl space-y-4">
            {sources > 0 ? (
              <>
                <p className="text-dim">
                  Your agent, or code in the playground, can ask for up to {sources}{" "}
                  {sources === 1 ? "source" : "sources"}: OpenAPI documents and GraphQL endpoints at public addresses
                  that need no credential. You approve each one here.
                </p>
                <Command text={ADD} label="Copy the code" />
              </>
            ) : (
              <p className="text-dim">
                You and your agent can run code. Connecting services needs an account: the operator of this Executor
                allows no sources without one.
              </p>
            )}
            <Link to="/playground" className={looks("plain")}>
              Open the playground
            </Link>
          </div>
        )}
      </Loaded>
    </section>
  );
}
