import { useMutation, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useId, useState } from "react";
import { searchTools } from "@/api/queries";
import type { Match } from "@/api/types";
import { visible } from "@/text/visible";
import { EffectBadge } from "@/ui/badge";
import { Dialog } from "@/ui/dialog";
import { isOutdated } from "@/ui/states";
import { tellProblem } from "@/ui/toast";
import { describe } from "./examples";
import type { Language } from "./language";

type Props = { open: boolean; language: Language; onClose: () => void; onPick: (call: string) => void };

/** Say what it should do; what is chosen is put into the code with the arguments it must have. */
export function Finder({ open, language, onClose, onPick }: Props) {
  return (
    <Dialog open={open} onClose={onClose} title="Find a tool" bare wide>
      <Search language={language} onPick={onPick} />
    </Dialog>
  );
}

function Search({ language, onPick }: { language: Language; onPick: (call: string) => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const found = useMatches(text.trim());
  const pick = useMutation({
    mutationFn: (path: string) => describe(path, language),
    onSuccess: (tool, path) => onPick(tool.example ?? `await tools.${path}()`),
    onError: tellProblem,
  });
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const chosen = found[at];
    if (step) setAt((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter" && chosen) pick.mutate(chosen.path);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: it was opened to type
        autoFocus
        role="combobox"
        aria-label="What should the tool do?"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found[at] ? `${list}-${at}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={pressed}
        placeholder="What should it do? For example: shop create order"
        autoComplete="off"
        spellCheck={false}
        className="h-12 w-full border-line border-b bg-transparent px-4 text-base outline-none placeholder:text-dim"
      />
      <div id={list} role="listbox" aria-label="Tools" className="h-[22rem] max-h-[50dvh] overflow-y-auto p-1.5">
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field
          <div
            key={one.path}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => pick.mutate(one.path)}
            onMouseMove={() => setAt(index)}
            className="cursor-pointer rounded-lg px-3 py-2 text-sm aria-selected:bg-accent-soft"
          >
            <span className="flex min-w-0 items-center gap-2">
              <code className="truncate font-mono text-xs">{visible(one.path)}</code>
              <EffectBadge effect={one.effect ?? null} />
            </span>
            <span className="block truncate text-dim text-xs">{visible(one.description)}</span>
          </div>
        ))}
        {found.length === 0 && (
          <p className="px-3 py-4 text-dim text-sm">{text ? "Nothing found." : "Type what you want to do."}</p>
        )}
      </div>
    </>
  );
}

function useMatches(text: string): Match[] {
  const asked = useQuery({
    queryKey: ["tools", "search", "finder", text],
    queryFn: ({ signal }) => searchTools({ query: text, limit: 20 }, signal),
    enabled: text.length > 1,
    placeholderData: (before) => before,
  });
  return text.length > 1 && !isOutdated(asked) ? (asked.data?.items ?? []) : [];
}
