import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { firstLine } from "@/pages/sources/description";
import { visible } from "@/text/visible";
import { ActionBadge, EffectBadge } from "@/ui/badge";
import type { ManifestTool } from "./filters";

const HEIGHT = 52;
const DIGEST = 12;

/** Of ten thousand tools only those in sight are in the document. */
export function ManifestList({ tools, ids }: { tools: ManifestTool[]; ids: ReadonlyMap<string, string> }) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: tools.length,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    getItemKey: (index) => tools[index]?.path ?? index,
    overscan: 20,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other tools begin at the top
  useEffect(() => virtual.scrollToOffset(0), [tools, virtual]);
  return (
    <div ref={box} className="card max-h-[min(72dvh,56rem)] overflow-y-auto overscroll-contain p-1">
      <ul aria-label="Tools" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const tool = tools[item.index];
          return (
            tool && (
              <li
                key={item.key}
                aria-posinset={item.index + 1}
                aria-setsize={tools.length}
                className="absolute inset-x-0 top-0"
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              >
                <Row tool={tool} id={ids.get(tool.source) ?? tool.source} />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

function Row({ tool, id }: { tool: ManifestTool; id: string }) {
  const { policy } = tool;
  return (
    <Link
      to="/sources/$id"
      params={{ id }}
      search={{ tool: tool.path }}
      className="flex h-full min-w-0 items-center gap-3 rounded-lg px-2.5 outline-offset-[-2px] hover:bg-raised"
    >
      <span className="min-w-0 flex-1">
        <span className={`block truncate font-mono text-xs ${tool.deprecated ? "line-through" : ""}`}>
          {visible(tool.path)}
        </span>
        <span className="block truncate text-dim text-xs">{visible(firstLine(tool.description))}</span>
      </span>
      <code title={`Version ${tool.digest}`} className="hidden font-mono text-dim text-xs lg:inline">
        {tool.digest.slice(0, DIGEST)}
      </code>
      <span className="flex w-22 shrink-0 justify-end sm:w-24">
        <EffectBadge effect={tool.effect} />
      </span>
      <span
        className="flex w-10 shrink-0 justify-end sm:w-12"
        title={`${visible(policy.reason)}${policy.conditional ? "; policies look at the arguments" : ""}`}
      >
        <ActionBadge action={policy.action} />
        {policy.conditional && (
          <span className="text-dim text-xs">
            *<span className="sr-only"> depends on the arguments</span>
          </span>
        )}
      </span>
    </Link>
  );
}
