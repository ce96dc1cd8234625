import { SearchIcon } from "lucide-react";
import { useEffect, useState } from "react";

/** Typing is never held up by what it finds: the address follows when one pauses. */
export function Search({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onSearch(typed), 120);
    return () => clearTimeout(timer);
  }, [typed, text, onSearch]);
  return (
    <div className="relative mb-2">
      <SearchIcon size={15} aria-hidden="true" className="absolute top-2.5 left-3 text-dim" />
      <input
        data-search=""
        type="search"
        aria-label="Search the tools"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && setTyped("")}
        placeholder="Search by what you want to do"
        className="h-9 w-full rounded-lg border border-strong/60 bg-surface pr-3 pl-9 text-sm placeholder:text-dim"
      />
    </div>
  );
}
