import { useLocation, useNavigate } from "@tanstack/react-router";
import { ArrowLeft, Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { ApprovalCard } from "@/pages/approvals/card";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Kbd } from "@/ui/kbd";
import { type Entry, useFound } from "./found";

type Props = { open: boolean; onClose: () => void; onHelp: () => void };

/** What waits for a decision is decided right here; everything else is opened. */
export function Palette({ open, onClose, onHelp }: Props) {
  const [asked, setAsked] = useState("");
  const close = () => {
    setAsked("");
    onClose();
  };
  return (
    <Dialog open={open} onClose={close} title={asked ? "Request" : "Search"} bare={!asked} wide={Boolean(asked)}>
      {asked ? (
        <Request id={asked} onBack={() => setAsked("")} onClose={close} />
      ) : (
        <Finder onClose={close} onHelp={onHelp} onAsked={setAsked} />
      )}
    </Dialog>
  );
}

/** A link in it leads to another page, so that it closes. */
function Request({ id, onBack, onClose }: { id: string; onBack: () => void; onClose: () => void }) {
  const location = useLocation({ select: ({ href }) => href });
  const first = useRef(location).current;
  useEffect(() => {
    if (location !== first) onClose();
  }, [location, first, onClose]);
  return (
    <div className="space-y-3">
      <ApprovalCard id={id} />
      <Button look="ghost" size="small" onClick={onBack}>
        <ArrowLeft size={14} aria-hidden="true" /> Back to the search
      </Button>
    </div>
  );
}

type FinderProps = Omit<Props, "open"> & { onAsked: (id: string) => void };

function Finder({ onClose, onHelp, onAsked }: FinderProps) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { entries, searching } = useFound(text.trim(), onHelp);
  const navigate = useNavigate();
  const list = useId();
  const current = Math.min(at, Math.max(0, entries.length - 1));
  const open = (one: Entry | undefined) => {
    if (!one) return;
    if (one.asked) return onAsked(one.asked);
    onClose();
    if (one.act) one.act();
    else void navigate({ href: one.to });
  };
  const pressed = (event: KeyboardEvent) => {
    const last = Math.max(0, entries.length - 1);
    if (event.key === "ArrowDown") setAt(current === last ? 0 : current + 1);
    else if (event.key === "ArrowUp") setAt(current === 0 ? last : current - 1);
    else if (event.key === "Home" && event.ctrlKey) setAt(0);
    else if (event.key === "End" && event.ctrlKey) setAt(last);
    else if (event.key === "Enter") open(entries[current]);
    else return;
    event.preventDefault();
  };
  return (
    <div>
      <div className="flex items-center gap-3 border-line border-b px-4">
        <Search size={16} aria-hidden="true" className={searching ? "animate-pulse text-accent" : "text-dim"} />
        <input
          // biome-ignore lint/a11y/noAutofocus: it was opened to type
          autoFocus
          role="combobox"
          aria-label="Search pages, tools, executions and actions"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={entries[current] ? `${list}-${current}` : undefined}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={pressed}
          placeholder="Search or run an action"
          autoComplete="off"
          spellCheck={false}
          className="h-12 w-full bg-transparent text-base outline-none placeholder:text-dim"
        />
      </div>
      <Results list={list} entries={entries} searching={searching} at={current} onPoint={setAt} onOpen={open} />
      <div aria-hidden="true" className="hidden gap-4 border-line border-t px-4 py-2 text-dim text-xs sm:flex">
        <span className="flex items-center gap-1.5">
          <Kbd keys={["↑", "↓"]} /> move
        </span>
        <span className="flex items-center gap-1.5">
          <Kbd keys={["Enter"]} /> open
        </span>
        <span className="flex items-center gap-1.5">
          <Kbd keys={["Esc"]} /> close
        </span>
      </div>
    </div>
  );
}

type ResultsProps = {
  list: string;
  entries: Entry[];
  searching: boolean;
  at: number;
  onPoint: (at: number) => void;
  onOpen: (one: Entry) => void;
};

function Results({ list, entries, searching, at, onPoint, onOpen }: ResultsProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector(`[id="${list}-${at}"]`)?.scrollIntoView({ block: "nearest" });
  }, [list, at]);
  return (
    <div
      ref={box}
      id={list}
      role="listbox"
      aria-label="Results"
      className="h-[22rem] max-h-[50dvh] overflow-y-auto p-1.5"
    >
      {entries.map((one, index) => (
        <div key={one.id} role="presentation">
          {one.group !== entries[index - 1]?.group && (
            <div role="presentation" className="px-3 pt-2 pb-1 text-dim text-xs">
              {one.group}
            </div>
          )}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field */}
          <div
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => onOpen(one)}
            onMouseMove={() => onPoint(index)}
            className="flex cursor-pointer items-center gap-3 rounded-lg px-3 py-1.5 text-sm aria-selected:bg-accent-soft"
          >
            {one.icon && <one.icon size={15} aria-hidden="true" className="shrink-0 text-dim" />}
            <span className="min-w-0 max-w-[70%] shrink-0 truncate">{visible(one.title)}</span>
            <span className="ml-auto min-w-0 truncate text-dim text-xs">{visible(one.about)}</span>
          </div>
        </div>
      ))}
      {entries.length === 0 && !searching && (
        <p className="px-3 py-4 text-dim text-sm">Nothing found. Try other words.</p>
      )}
    </div>
  );
}
