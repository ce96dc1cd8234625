import { visible } from "@/text/visible";

const LOOKS: Record<string, [look: string, word: string]> = {
  "+": ["bg-ok-soft text-ok", "added: "],
  "-": ["bg-bad-soft text-bad", "removed: "],
  "@": ["text-accent", ""],
};

/** Lines of a unified diff. The sign in front says the same as the colour. */
export function DiffLines({ lines, label }: { lines: string[]; label: string }) {
  return (
    <section
      tabIndex={0} // it scrolls, so the keyboard must reach it
      aria-label={label}
      className="max-h-[32rem] min-w-0 overflow-auto rounded-lg border border-line bg-raised/60 py-2 font-mono text-xs leading-5"
    >
      {lines.map((line, index) => {
        const [look, word] = LOOKS[line[0] ?? ""] ?? ["", ""];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
          <div key={index} className={`whitespace-pre-wrap break-words px-3 ${look}`}>
            {word && <span className="sr-only">{word}</span>}
            {visible(line, "\t") || " "}
          </div>
        );
      })}
    </section>
  );
}
