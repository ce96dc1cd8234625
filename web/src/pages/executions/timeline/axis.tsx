import { duration } from "@/text/time";
import { place, type Scale, type Tick, ticks } from "./scale";

type Props = { scale: Scale; width: number; from: number; to: number };
const NEAREST = 56; // a label's width; nearer ones would lie over each other

/** Ticks of time that stay in sight, and how long what is shortened was. */
export function Axis({ scale, width, from, to }: Props) {
  const at = (time: number) => place(scale, time) * (width - 8);
  const marks = legible(ticks(scale, width), at, width).filter((tick) => at(tick.at) >= from && at(tick.at) <= to);
  const shortened = scale.stretches.filter((one) => one.short);
  return (
    <>
      <div aria-hidden="true" className="absolute inset-0">
        {marks.map((tick) => (
          <span key={tick.at} className="absolute inset-y-0 border-line border-l" style={{ left: at(tick.at) }} />
        ))}
        {shortened.map((one) => (
          <span
            key={one.from}
            className="absolute inset-y-0 border-strong border-x border-dashed bg-surface"
            style={{ left: at(one.from), width: Math.max(2, at(one.to) - at(one.from)) }}
          />
        ))}
      </div>
      <div
        aria-hidden="true"
        className="sticky top-0 z-20 h-5.5 overflow-hidden border-line border-b bg-surface text-[0.68rem] text-dim leading-5 tabular-nums"
      >
        {marks.map((tick) => (
          <span key={tick.at} className="absolute whitespace-nowrap pl-1" style={{ left: at(tick.at) }}>
            {tick.label}
          </span>
        ))}
        {shortened.map((one) => (
          <span
            key={one.from}
            className="absolute overflow-hidden whitespace-nowrap bg-surface text-center text-ink"
            style={{ left: at(one.from), width: Math.max(2, at(one.to) - at(one.from)) }}
          >
            … {duration(one.to - one.from)} …
          </span>
        ))}
      </div>
    </>
  );
}

function legible(marks: Tick[], at: (time: number) => number, width: number): Tick[] {
  let last = -NEAREST;
  return marks.filter((tick) => {
    const left = at(tick.at);
    if (left - last < NEAREST || left > width - NEAREST - 8) return false;
    last = left;
    return true;
  });
}
