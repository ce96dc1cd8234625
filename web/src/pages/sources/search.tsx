import { SearchIcon } from "lucide-react";
import { type KeyboardEvent, useEffect, useState } from "react";

/** Typing is never held up by what it finds: the address follows when one pauses. */
export function Search({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onSearch(typed), 120);
    return () => clearTimeout(timer);
  }, [typed, text, onSearch]);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") setTyped("");
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    const first = document.querySelector<HTMLElement>('[aria-label="Tools"] [data-row="0"]');
    if (!first) return;
    event.preventDefault();
    first.focus();
    if (event.key === "Enter") first.click();
  };
  return (
    <div className="relative mb-2">
      <SearchIcon size={15} aria-hidden="true" className="absolute top-2.5 left-3 text-dim" />
      <input
        data-search=""
        type="search"
        aria-label="Search the tools"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={key}
        placeholder="Search by what you want to do"
        className="h-9 w-full rounded-lg border border-strong/60 bg-surface pr-3 pl-9 text-sm transition-colors placeholder:text-dim hover:border-strong focus-visible:border-accent"
      />
    </div>
  );
}
