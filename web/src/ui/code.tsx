import { useMemo } from "react";
import { coloured, isBlank } from "./coloured";
import { CopyButton } from "./copy";

/** Code as it is, with the numbers that errors name. `mark` is the line that is meant. */
export function Code({
  text,
  label,
  numbers = true,
  mark,
  language = "typescript",
}: {
  text: string;
  label: string;
  numbers?: boolean;
  mark?: number;
  language?: string;
}) {
  const lines = useMemo(() => coloured(text, language), [text, language]);
  return (
    <div className="relative min-w-0 rounded-lg border border-line bg-raised/60">
      <div className="absolute top-1 right-1 rounded-lg bg-raised">
        <CopyButton text={text} label={`Copy the ${label}`} />
      </div>
      <section
        tabIndex={0}
        aria-label={label}
        className="max-h-[32rem] overflow-auto whitespace-pre-wrap py-2 pr-9 font-mono text-xs leading-5"
      >
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
          <div key={index} className={`flex ${mark === index + 1 ? "bg-bad-soft" : ""}`}>
            {numbers && (
              <span aria-hidden="true" className="w-10 shrink-0 select-none pr-3 text-right text-dim">
                {index + 1}
              </span>
            )}
            <code className={`min-w-0 break-words ${numbers ? "" : "pl-3"}`}>{isBlank(line) ? " " : line}</code>
          </div>
        ))}
      </section>
    </div>
  );
}
