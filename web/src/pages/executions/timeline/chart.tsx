import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { visible } from "@/text/visible";
import { Axis } from "./axis";
import { type Bar, describe } from "./bars";
import { place, type Scale } from "./scale";
import { Shape } from "./shape";
import { useWindow } from "./window";

export const LANE = 26;
const AXIS = 22;
const EACH = 20; // pixels for each call of the fullest lane, before anybody zooms
const WIDEST = 40_000;
const MARGIN = 240;

type Props = {
  bars: Bar[];
  scale: Scale;
  zoom: number;
  current: number | undefined;
  onPoint: (seq: number | undefined) => void;
  onOpen: (seq: number) => void;
};
export type Drawn = { bar: Bar; left: number; width: number; top: number };

/** Of hundreds of calls only those in sight are in the document. The arrow keys go from call to call. */
export function Chart({ bars, scale, zoom, current, onPoint, onOpen }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useWindow(box);
  const lanes = Math.max(...bars.map((bar) => bar.lane)) + 1;
  const room = Math.max(200, seen.width - 8);
  const width = Math.min(WIDEST, Math.max(room, Math.max(room, fullest(bars, lanes) * EACH) * zoom));
  const drawn = useMemo(() => bars.map((bar) => draw(bar, scale, width)), [bars, scale, width]);
  const [at, setAt] = useState<number>();
  const held = at ?? current ?? bars[0]?.call.seq;
  const moved = useRef(false);
  useLayoutEffect(() => {
    if (!moved.current || !box.current) return;
    moved.current = false;
    const target = drawn.find((one) => one.bar.call.seq === held);
    if (target) bringIntoSight(box.current, target);
    box.current.querySelector<HTMLElement>(`[data-seq="${held}"]`)?.focus({ preventScroll: true });
  });
  const pressed = (event: KeyboardEvent) => {
    const next = neighbour(drawn, held, event.key);
    if (!next) return;
    event.preventDefault();
    moved.current = true;
    setAt(next.bar.call.seq);
  };
  const near = drawn.filter((one) => one.bar.call.seq === held || isNear(one, seen));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys move the focus among the buttons in it
    <div
      ref={box}
      onKeyDown={pressed}
      className="relative max-h-80 overflow-auto rounded-lg border border-line bg-raised/40"
    >
      <div className="relative" style={{ width, height: lanes * LANE + AXIS + 6 }}>
        <Axis scale={scale} width={width} from={seen.left - MARGIN} to={seen.left + seen.width + MARGIN} />
        <fieldset>
          <legend className="sr-only">Calls over time</legend>
          {near.map((one) => (
            <Shape
              key={one.bar.call.seq}
              drawn={one}
              label={visible(describe(one.bar))}
              scale={scale}
              width={width}
              held={one.bar.call.seq === held}
              open={one.bar.call.seq === current}
              onPoint={onPoint}
              onOpen={(seq) => {
                setAt(seq);
                onOpen(seq);
              }}
            />
          ))}
        </fieldset>
      </div>
    </div>
  );
}

function fullest(bars: Bar[], lanes: number): number {
  const counts = new Array<number>(lanes).fill(0);
  for (const bar of bars) counts[bar.lane] = (counts[bar.lane] ?? 0) + 1;
  return Math.max(...counts);
}

function draw(bar: Bar, scale: Scale, width: number): Drawn {
  const left = place(scale, bar.from) * (width - 8);
  const size = Math.max(place(scale, bar.to) * (width - 8) - left, 5);
  return { bar, left, width: size, top: AXIS + bar.lane * LANE + 3 };
}

type Sight = { left: number; top: number; width: number; height: number };

function isNear(one: Drawn, seen: Sight): boolean {
  return (
    one.left + one.width >= seen.left - MARGIN &&
    one.left <= seen.left + seen.width + MARGIN &&
    one.top >= seen.top - MARGIN &&
    one.top <= seen.top + seen.height + MARGIN
  );
}

function neighbour(drawn: Drawn[], held: number | undefined, key: string): Drawn | undefined {
  const index = drawn.findIndex((one) => one.bar.call.seq === held);
  const here = drawn[index];
  if (key === "Home") return drawn[0];
  if (key === "End") return drawn.at(-1);
  if (key === "ArrowRight") return drawn[index + 1];
  if (key === "ArrowLeft") return drawn[index - 1];
  const lane = (here?.bar.lane ?? 0) + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : Number.NaN);
  const others = drawn.filter((one) => one.bar.lane === lane);
  const away = (one: Drawn) => Math.abs(one.left - (here?.left ?? 0));
  return others.sort((one, other) => away(one) - away(other))[0];
}

function bringIntoSight(box: HTMLElement, target: Drawn): void {
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = box;
  if (target.left < scrollLeft || target.left + 40 > scrollLeft + clientWidth) {
    box.scrollLeft = Math.max(0, target.left - clientWidth / 3);
  }
  if (target.top - AXIS < scrollTop || target.top + LANE > scrollTop + clientHeight) {
    box.scrollTop = Math.max(0, target.top - clientHeight / 2);
  }
}
