import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { remove } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Toolkit } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm";
import { Command } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { Facts } from "@/ui/facts";
import { Page, Section } from "@/ui/page";
import { Path } from "@/ui/path";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tell, tellProblem } from "@/ui/toast";
import { ToolkitForm } from "./form";
import { Keys } from "./keys";
import { toolkit } from "./queries";
import { Tools } from "./tools";

export function ToolkitPage() {
  const { slug } = useParams({ strict: false });
  const asked = useQuery(toolkit(slug ?? ""));
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  return (
    <Page
      title={asked.data ? visible(asked.data.name) : "Toolkit"}
      wide
      about={asked.data?.description ? visible(asked.data.description) : undefined}
      actions={may && asked.data && <Acts one={asked.data} />}
    >
      <Loaded asked={asked} rows={8}>
        {(one) => (
          <>
            <About one={one} />
            <Keys one={one} may={may} />
            <Tools one={one} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Acts({ one }: { one: Toolkit }) {
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const go = useNavigate();
  const gone = useMutation({
    mutationFn: () => remove(`/v1/toolkits/${encodeURIComponent(one.id)}`),
    onSuccess: async () => {
      tell("Toolkit removed");
      await go({ to: "/toolkits" });
      void client.invalidateQueries({ queryKey: ["toolkits"] });
    },
    onError: tellProblem,
  });
  const done = (saved: Toolkit) => {
    setOpen(false);
    if (saved.slug !== one.slug) void go({ to: "/toolkits/$slug", params: { slug: saved.slug }, replace: true });
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>Edit</Button>
      <ConfirmButton busy={gone.isPending} sure="Remove it and revoke its keys?" onConfirm={() => gone.mutate()}>
        Remove
      </ConfirmButton>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title={`Edit ${visible(one.name)}`} wide>
        <ToolkitForm toolkit={one} onDone={done} />
      </Dialog>
    </>
  );
}

function Lines({ items }: { items: string[] }) {
  if (items.length === 0) return null;
  return (
    <ul className="font-mono text-xs leading-5">
      {items.map((item) => (
        <li key={item} className="break-words">
          <Path path={item} />
        </li>
      ))}
    </ul>
  );
}

function About({ one }: { one: Toolkit }) {
  return (
    <Section
      title="What it has"
      about="MCP clients connect to its address, with a key of this toolkit or another token."
    >
      <div className="mb-4">
        <Command text={one.endpoint} label="Copy the address" />
      </div>
      {one.unmatched.length > 0 && (
        <div role="alert" className="mb-4 rounded-lg bg-warn-soft px-3 py-2 text-sm">
          <p className="font-medium text-warn">These patterns match no tool now:</p>
          <Lines items={one.unmatched} />
        </div>
      )}
      <Facts
        facts={[
          [
            "Slug",
            <code key="slug" className="font-mono text-xs">
              {one.slug}
            </code>,
          ],
          ["Tools", <Lines key="tools" items={one.patterns} />],
          [
            "Policies",
            one.policies.length ? <Lines key="policies" items={one.policies.map(({ text }) => text)} /> : null,
          ],
          ["Passed through", one.passThrough.length ? <Passed key="passed" one={one} /> : null],
          ["Changed", <Ago key="changed" at={one.updatedAt} />],
        ]}
      />
    </Section>
  );
}

function Passed({ one }: { one: Toolkit }) {
  return (
    <>
      <Lines items={one.passThrough} />
      {one.exposed < one.matching && (
        <p className="text-warn text-xs">
          {one.exposed} of {one.matching} matching tools: a client is shown at most 100.
        </p>
      )}
    </>
  );
}
