import { duration } from "@/text/time";
import { place, type Scale, ticks } from "./scale";

type Props = { scale: Scale; width: number; from: number; to: number };

/** Ticks of time, and how long what is shortened was. */
export function Axis({ scale, width, from, to }: Props) {
  const at = (time: number) => place(scale, time) * (width - 8);
  const inSight = (left: number) => left >= from && left <= to;
  let last = -100;
  const marks = ticks(scale, width).filter((tick) => {
    const left = at(tick.at);
    if (left - last < 56 || left > width - 64) return false;
    last = left;
    return inSight(left);
  });
  return (
    <div aria-hidden="true" className="absolute inset-0 text-[0.68rem] text-dim tabular-nums">
      {marks.map((tick) => (
        <span key={tick.at} className="absolute inset-y-0 border-line border-l pl-1" style={{ left: at(tick.at) }}>
          {tick.label}
        </span>
      ))}
      {scale.stretches
        .filter((one) => one.short)
        .map((one) => (
          <span
            key={one.from}
            className="absolute inset-y-0 overflow-hidden whitespace-nowrap border-strong border-x border-dashed bg-surface pt-px text-center text-ink"
            style={{ left: at(one.from), width: Math.max(2, at(one.to) - at(one.from)) }}
          >
            … {duration(one.to - one.from)} …
          </span>
        ))}
    </div>
  );
}
