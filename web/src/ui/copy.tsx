import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { visible } from "@/text/visible";
import { IconButton } from "./button";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
  };
  return (
    <IconButton label={done ? "Copied" : label} onClick={copy}>
      {done ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
    </IconButton>
  );
}

/** The same act in a terminal. */
export function Command({ text, label }: { text: string; label?: string }) {
  return (
    <div className="flex min-w-0 items-start gap-1 rounded-lg border border-line bg-raised py-1 pr-1 pl-3">
      <code className="min-w-0 flex-1 whitespace-pre-wrap break-words py-0.5 font-mono text-xs leading-5">
        {visible(text, "\n\t")}
      </code>
      <CopyButton text={text} label={label ?? "Copy the command"} />
    </div>
  );
}

export function Identifier({ id }: { id: string }) {
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-0.5">
      <code className="truncate font-mono text-dim text-xs">{id}</code>
      <span className="-my-1.5">
        <CopyButton text={id} label={`Copy ${id}`} />
      </span>
    </span>
  );
}
