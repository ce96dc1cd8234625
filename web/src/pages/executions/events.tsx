import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client";
import type { Execution, LiveEvent } from "@/api/types";
import { visible } from "@/text/visible";
import { Loaded } from "@/ui/states";

export function Events({ execution }: { execution: Execution }) {
  const id = execution.executionId;
  const asked = useQuery({
    queryKey: ["execution", id, "events"],
    queryFn: ({ signal }) =>
      get<{ items: LiveEvent[] }>(`/v1/executions/${encodeURIComponent(id)}/events?limit=1000`, signal),
  });
  return (
    <Loaded asked={asked}>
      {({ items }) => (
        <ol className="max-h-96 space-y-1 overflow-y-auto font-mono text-xs">
          {items.map((event) => (
            <li key={event.id} className="flex gap-3">
              <time className="shrink-0 text-dim">{event.at.slice(11, 23)}</time>
              <span className="w-44 shrink-0">{event.type}</span>
              <span className="min-w-0 truncate text-dim">{visible(brief(event.data))}</span>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}

function brief(data: Record<string, unknown>): string {
  const told = Object.entries(data).filter(([, value]) => value !== "" && value !== null && typeof value !== "object");
  return told.map(([name, value]) => `${name}=${String(value)}`).join(" ");
}
