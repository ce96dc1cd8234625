import { duration } from "@/text/time";
import { visible } from "@/text/visible";
import type { Bar } from "./bars";
import { LANE } from "./chart";
import { place, type Scale } from "./scale";
import { SIGNS } from "./sign";

type Props = {
  drawn: { bar: Bar; left: number; width: number; top: number };
  label: string;
  scale: Scale;
  width: number;
  held: boolean;
  open: boolean;
  onPoint: (seq: number | undefined) => void;
  onOpen: (seq: number) => void;
};

/** One call: hatched while it waited for a person, then in the pattern and with the sign of its outcome. */
export function Shape({ drawn, label, scale, width, held, open, onPoint, onOpen }: Props) {
  const { bar } = drawn;
  const { call } = bar;
  const waited = bar.parts.some((part) => part.kind === "waiting");
  const at = (time: number) => place(scale, time) * (width - 8) - drawn.left;
  return (
    <button
      type="button"
      data-seq={call.seq}
      tabIndex={held ? 0 : -1}
      aria-label={label}
      aria-current={open || undefined}
      onClick={() => onOpen(call.seq)}
      onMouseEnter={() => onPoint(call.seq)}
      onMouseLeave={() => onPoint(undefined)}
      onFocus={() => onPoint(call.seq)}
      onBlur={() => onPoint(undefined)}
      className={`mark mark-${bar.look} absolute flex items-center overflow-hidden rounded-md text-left text-xs hover:z-10 focus-visible:z-10 aria-[current]:ring-2 aria-[current]:ring-accent`}
      style={{ left: drawn.left, width: drawn.width, top: drawn.top, height: LANE - 6 }}
    >
      {bar.parts
        .filter((part) => part.kind === "waiting")
        .map((part) => (
          <span
            key={part.from}
            aria-hidden="true"
            className="hatched absolute inset-y-0 bg-surface"
            style={{ left: at(part.from), width: Math.max(2, at(part.to) - at(part.from)) }}
          />
        ))}
      {drawn.width >= 13 && (
        <span aria-hidden="true" className="mark-text relative rounded-sm px-0.5">
          {bar.again ? "↻" : ""}
          {SIGNS[bar.look]}
        </span>
      )}
      {drawn.width >= 64 && (
        <span
          aria-hidden="true"
          className={`mark-text relative min-w-0 truncate rounded-sm px-0.5 font-mono text-ink ${waited ? "max-w-3/5" : ""}`}
        >
          {visible(short(call.path || call.kind))} <span className="font-sans">{duration(bar.to - bar.from)}</span>
        </span>
      )}
    </button>
  );
}

/** The last two names say which tool; the whole path is in the label. */
function short(path: string): string {
  return path.split(".").slice(-2).join(".");
}
