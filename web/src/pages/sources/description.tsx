import { type ReactNode, useState } from "react";
import { visible } from "@/text/visible";

const LONG = 700;

/** What a service says of a tool. Its paragraphs, lists and `code` are shown as such; nothing in it is ever markup. */
export function Description({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > LONG;
  if (!text.trim()) return <p className="mt-3 text-dim text-sm">No description.</p>;
  return (
    <div className="mt-3 max-w-prose space-y-2 text-sm">
      {blocks(cut ? `${text.slice(0, LONG)}…` : text).map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block is its place
        <Block key={at} lines={block} />
      ))}
      {text.length > LONG && (
        <button type="button" className="text-accent text-xs underline" onClick={() => setWhole(!whole)}>
          {cut ? "Show more" : "Show less"}
        </button>
      )}
    </div>
  );
}

/** For where there is room for one line only. */
export function firstLine(text: string): string {
  return text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "";
}

const ITEM = /^\s*(?:[-*•]|\d+[.)])\s+/;

function blocks(text: string): string[][] {
  const parts = text.replaceAll("\r\n", "\n").split(/\n\s*\n/);
  return parts.map((part) => part.split("\n").filter((line) => line.trim())).filter((lines) => lines.length > 0);
}

function Block({ lines }: { lines: string[] }) {
  if (lines.every((line) => ITEM.test(line)))
    return (
      <ul className="list-disc space-y-0.5 pl-5">
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an item is its place
          <li key={at} className="break-words">
            {inline(line.replace(ITEM, ""))}
          </li>
        ))}
      </ul>
    );
  const heading = lines.length === 1 && lines[0]?.match(/^#{1,6}\s+(.*)$/)?.[1];
  if (heading) return <p className="font-medium">{visible(heading)}</p>;
  return <p className="whitespace-pre-line break-words">{inline(lines.join("\n"))}</p>;
}

function inline(text: string): ReactNode[] {
  return text.split(/(`[^`\n]+`)/).map((part, at) =>
    part.startsWith("`") && part.endsWith("`") && part.length > 2 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
      <code key={at} className="break-words rounded bg-raised px-1 font-mono text-xs">
        {visible(part.slice(1, -1))}
      </code>
    ) : (
      visible(part, "\n")
    ),
  );
}
