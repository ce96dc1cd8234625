// Time as a place on the page: linear, but where nothing runs for long only as much room as it takes to say so.
export type Span = { from: number; to: number };
export type Stretch = Span & { start: number; size: number; short: boolean };
export type Scale = { stretches: Stretch[]; size: number; begin: number; end: number };

export const LONG = 1000;

export function makeScale(busy: Span[], begin: number, end: number): Scale {
  const merged = merge(busy, begin, end);
  const room = Math.max(drawnWhole(merged, begin, end) * 0.25, 20);
  const stretches: Stretch[] = [];
  let at = begin;
  let size = 0;
  const add = (to: number, quiet: boolean) => {
    const length = to - at;
    if (length <= 0) return;
    const short = quiet && length > LONG && length > 2 * room;
    stretches.push({ from: at, to, start: size, size: short ? room : length, short });
    size += short ? room : length;
    at = to;
  };
  for (const one of merged) {
    add(one.from, true);
    add(one.to, false);
  }
  add(end, true);
  return { stretches, size: Math.max(size, 1), begin, end };
}

/** How much time is surely drawn as long as it was: when something ran, and pauses that are no wait. */
function drawnWhole(busy: Span[], begin: number, end: number): number {
  let at = begin;
  let whole = 0;
  for (const { from, to } of [...busy, { from: end, to: end }]) {
    whole += to - from + (from - at > LONG ? 0 : from - at);
    at = to;
  }
  return whole;
}

function merge(spans: Span[], begin: number, end: number): Span[] {
  const made: Span[] = [];
  for (const { from, to } of [...spans].sort((one, other) => one.from - other.from)) {
    const last = made.at(-1);
    const span = { from: Math.max(from, begin), to: Math.min(to, end) };
    if (span.to <= span.from) continue;
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else made.push(span);
  }
  return made;
}

/** From 0 to 1. */
export function place(scale: Scale, at: number): number {
  for (const one of scale.stretches) {
    if (at > one.to) continue;
    const within = Math.max(0, at - one.from) / (one.to - one.from);
    return (one.start + within * one.size) / scale.size;
  }
  return scale.stretches.length ? 1 : 0;
}

export type Tick = { at: number; label: string };

/** About every 90 pixels. Behind a shortened stretch the clock says where one is, and counting begins again. */
export function ticks(scale: Scale, width: number): Tick[] {
  const step = nice((scale.size / width) * 90);
  const made: Tick[] = [];
  let base = scale.begin;
  for (const one of scale.stretches) {
    if (one.short) {
      base = one.to;
      continue;
    }
    const first = base + Math.ceil((one.from - base) / step) * step;
    for (let at = first; at <= one.to; at += step) {
      const label = at === base ? (base === scale.begin ? "0" : clock(at)) : `+${spell(at - base)}`;
      if (made.at(-1)?.at !== at) made.push({ at, label });
    }
  }
  return made;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000];

function nice(least: number): number {
  return STEPS.find((step) => step >= least) ?? Math.ceil(least / 600_000) * 600_000;
}

function spell(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds} ms`;
  if (milliseconds < 60_000) return `${Number((milliseconds / 1000).toFixed(2))} s`;
  return `${Number((milliseconds / 60_000).toFixed(2))} min`;
}

function clock(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB");
}
