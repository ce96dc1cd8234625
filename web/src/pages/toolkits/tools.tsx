import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Toolkit, ToolkitTool } from "@/api/types";
import { EffectBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Section } from "@/ui/page";
import { Path } from "@/ui/path";
import { Loaded } from "@/ui/states";
import { Table } from "@/ui/table";
import { toolsOf } from "./queries";

export function Tools({ one }: { one: Toolkit }) {
  const asked = useInfiniteQuery(toolsOf(one.slug));
  return (
    <Section title="Tools" about="All that code in this toolkit can find and call.">
      <Loaded asked={asked}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          return items.length ? (
            <List items={items} />
          ) : (
            <p className="text-dim text-sm">No tool matches its patterns.</p>
          );
        }}
      </Loaded>
      {asked.hasNextPage && (
        <div className="mt-3">
          <Button busy={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Section>
  );
}

function List({ items }: { items: ToolkitTool[] }) {
  return (
    <Table label="Tools" head={["Tool", "Effect", "MCP tool"]} rare={["MCP tool"]}>
      {items.map((tool) => (
        <tr key={tool.path}>
          <td className="min-w-40 break-words font-mono text-xs">
            <Link
              to="/sources/$id"
              params={{ id: tool.path.split(".")[0] ?? "" }}
              search={{ tool: tool.path }}
              className="text-accent hover:underline"
            >
              <Path path={tool.path} />
            </Link>
          </td>
          <td>
            <EffectBadge effect={tool.effect} />
          </td>
          <td className="break-all font-mono text-xs max-sm:hidden">
            {tool.name ?? <span className="font-sans text-dim">with execute</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}
