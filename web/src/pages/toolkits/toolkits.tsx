import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ToolCase } from "lucide-react";
import { useState } from "react";
import { whoami } from "@/api/queries";
import type { Toolkit } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Page } from "@/ui/page";
import { Path } from "@/ui/path";
import { Empty, Loaded } from "@/ui/states";
import { Table } from "@/ui/table";
import { ToolkitForm } from "./form";
import { toolkits } from "./queries";

export function ToolkitsPage() {
  const asked = useQuery(toolkits);
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const [isOpen, setOpen] = useState(false);
  const go = useNavigate();
  const add = may && (
    <Button look="primary" onClick={() => setOpen(true)}>
      Add a toolkit
    </Button>
  );
  return (
    <Page
      title="Toolkits"
      wide
      about="Parts of the catalog, each with its own MCP address and keys. A toolkit can only narrow what its callers may do."
      actions={add}
    >
      <Loaded asked={asked}>{({ items }) => (items.length ? <Listed items={items} /> : <Nothing />)}</Loaded>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title="New toolkit" wide>
        <ToolkitForm onDone={({ slug }) => void go({ to: "/toolkits/$slug", params: { slug } })} />
      </Dialog>
    </Page>
  );
}

function Nothing() {
  return (
    <Empty icon={ToolCase} title="No toolkits yet">
      Give an agent only the tools that it needs: choose them by patterns, and connect the agent to the toolkit instead
      of the whole catalog.
    </Empty>
  );
}

function Listed({ items }: { items: Toolkit[] }) {
  return (
    <div className="card px-4 py-2">
      <Table
        label="Toolkits"
        head={["Toolkit", "Tools", "Passed through", "Patterns", "Policies"]}
        rare={["Passed through", "Policies"]}
      >
        {items.map((one) => (
          <tr key={one.id}>
            <td className="min-w-32">
              <Link
                to="/toolkits/$slug"
                params={{ slug: one.slug }}
                className="font-medium text-accent hover:underline"
              >
                {visible(one.name)}
              </Link>
              {one.name !== one.slug && <div className="break-all font-mono text-dim text-xs">{one.slug}</div>}
            </td>
            <td className="tabular-nums">
              {one.tools} {one.unmatched.length > 0 && <Badge tone="warn">! check patterns</Badge>}
            </td>
            <td className="tabular-nums max-sm:hidden">{one.exposed || <span className="text-dim">none</span>}</td>
            <td className="font-mono text-xs">
              <Patterns items={one.patterns} />
            </td>
            <td className="text-dim text-xs max-sm:hidden">
              {one.policies.map(({ text }) => visible(text)).join("; ")}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

const SHOWN = 3;

function Patterns({ items }: { items: string[] }) {
  return (
    <ul className="space-y-0.5">
      {items.slice(0, SHOWN).map((one) => (
        <li key={one} className="break-words">
          <Path path={one} />
        </li>
      ))}
      {items.length > SHOWN && <li className="font-sans text-dim">and {items.length - SHOWN} more</li>}
    </ul>
  );
}
