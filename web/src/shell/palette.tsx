import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useDeferredValue, useId, useState } from "react";
import { get, query } from "@/api/client";
import { sources } from "@/api/queries";
import { visible } from "@/text/visible";
import { Dialog } from "@/ui/dialog";
import { PLACES } from "./places";

type Found = { id: string; title: string; about: string; to: string };
type Matches = { items: { path: string; description: string }[] };

export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Search" bare>
      <Finder onClose={onClose} />
    </Dialog>
  );
}

function Finder({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useFound(useDeferredValue(text.trim()));
  const navigate = useNavigate();
  const list = useId();
  const open = (one: Found | undefined) => {
    if (!one) return;
    onClose();
    void navigate({ href: one.to });
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) setAt((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") open(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <div>
      <div className="flex items-center gap-3 border-line border-b px-4">
        <Search size={16} aria-hidden="true" className="text-dim" />
        <input
          // biome-ignore lint/a11y/noAutofocus: it was opened to type
          autoFocus
          role="combobox"
          aria-label="Search pages and tools"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={found[at] ? `${list}-${at}` : undefined}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={pressed}
          placeholder="Go to a page, a source or a tool"
          className="h-12 w-full bg-transparent text-base outline-none placeholder:text-dim"
        />
      </div>
      <div id={list} role="listbox" aria-label="Results" className="max-h-[50dvh] overflow-y-auto p-1.5">
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field
          <div
            key={one.id}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(one)}
            onMouseMove={() => setAt(index)}
            className="flex cursor-pointer items-baseline gap-3 rounded-lg px-3 py-2 text-sm aria-selected:bg-raised"
          >
            <span className="shrink-0">{visible(one.title)}</span>
            <span className="ml-auto min-w-0 truncate text-dim text-xs">{visible(one.about)}</span>
          </div>
        ))}
        {found.length === 0 && <p className="px-3 py-4 text-dim text-sm">Nothing found.</p>}
      </div>
    </div>
  );
}

function useFound(text: string): Found[] {
  const connected = useQuery(sources).data?.items ?? [];
  const tools = useQuery({
    queryKey: ["tools", "search", "", text],
    queryFn: ({ signal }) => get<Matches>(`/v1/tools/search${query({ query: text, limit: 12, depth: 0 })}`, signal),
    enabled: text.length > 1,
    placeholderData: (before) => before,
  }).data;
  const wanted = text.toLowerCase();
  const has = (title: string) => title.toLowerCase().includes(wanted);
  const pages = PLACES.filter((place) => has(place.title)).map((place) => ({
    id: place.to,
    title: place.title,
    about: "page",
    to: place.to,
  }));
  const known = connected
    .filter((source) => has(`${source.name} ${source.namespace}`))
    .map((source) => ({
      id: source.id,
      title: source.name,
      about: `source ${source.namespace}`,
      to: `/sources/${source.namespace}`,
    }));
  const hits = text.length > 1 ? (tools?.items ?? []) : [];
  const matched = hits.map((one) => ({
    id: `tool ${one.path}`,
    title: one.path,
    about: one.description,
    to: toolAddress(one.path),
  }));
  const exact = /^exec_\w+$/.test(text)
    ? [{ id: text, title: text, about: "execution", to: `/executions/${text}` }]
    : [];
  return [...exact, ...pages, ...known.slice(0, 6), ...matched];
}

export function toolAddress(path: string): string {
  return `/sources/${encodeURIComponent(path.split(".")[0] ?? "")}?tool=${encodeURIComponent(path)}`;
}
