import type { Call } from "@/api/types";

export type Bar = { call: Call; lane: number; from: number; started: number | null; to: number };
export type Picture = { bars: Bar[]; lanes: number; begin: number; end: number };

/** Calls side by side in as few lanes as hold them without overlap, in the order in which they were made. */
export function picture(calls: Call[], begin: number, now: number): Picture {
  const free: number[] = [];
  const bars: Bar[] = [];
  let end = begin + 1;
  for (const call of [...calls].sort((one, other) => one.seq - other.seq)) {
    const from = Date.parse(call.createdAt);
    const to = Math.max(call.finishedAt ? Date.parse(call.finishedAt) : now, from);
    let lane = free.findIndex((until) => until <= from);
    if (lane < 0) lane = free.length;
    free[lane] = to + 1;
    bars.push({ call, lane, from, started: call.startedAt ? Date.parse(call.startedAt) : null, to });
    end = Math.max(end, to);
  }
  return { bars, lanes: Math.max(1, free.length), begin, end };
}

/** From a time to its place, 0 to 1. A pause of days would leave no room for calls of milliseconds: long gaps shrink. */
export function scale({ bars, begin, end }: Picture): (at: number) => number {
  const times = new Set([begin, end]);
  for (const bar of bars) for (const at of [bar.from, bar.started, bar.to]) if (at !== null) times.add(at);
  const marks = [...times].filter((at) => at >= begin && at <= end).sort((one, other) => one - other);
  const places = new Map<number, number>();
  let width = 0;
  marks.forEach((at, index) => {
    if (index > 0) width += Math.log2(2 + (at - (marks[index - 1] ?? at)));
    places.set(at, width);
  });
  return (at) => (width ? (places.get(Math.min(end, Math.max(begin, at))) ?? 0) / width : 0);
}
