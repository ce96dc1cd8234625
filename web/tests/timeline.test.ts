import { describe, expect, test } from "vitest";
import type { CallHead, Decided } from "@/pages/executions/queries";
import { makeBars, spent } from "@/pages/executions/timeline/bars";
import { makeScale, place, ticks } from "@/pages/executions/timeline/scale";

const at = (milliseconds: number) => new Date(milliseconds).toISOString();
const call = (seq: number, from: number, to: number | null, more: Partial<CallHead> = {}) =>
  ({
    seq,
    path: "a.b",
    kind: "tool",
    state: to === null ? "started" : "succeeded",
    argumentsDigest: "d",
    createdAt: at(from),
    startedAt: at(from),
    finishedAt: to === null ? null : at(to),
    ...more,
  }) as CallHead;
const decision = (seq: number, from: number, to: number | null) =>
  ({ callSeq: seq, createdAt: at(from), settledAt: to === null ? null : at(to) }) as Decided;

describe("bars", () => {
  test("calls that overlap are in lanes of their own, and a free lane is used again", () => {
    const bars = makeBars([call(1, 0, 100), call(2, 50, 150), call(3, 120, 130)], [], [], 200);
    expect(bars.map((bar) => bar.lane)).toEqual([0, 1, 0]);
  });

  test("a call that has not ended reaches until now", () => {
    expect(makeBars([call(1, 0, null)], [], [], 500)[0]).toMatchObject({ from: 0, to: 500, look: "running" });
  });

  test("the time that a human took is not the call's", () => {
    const [bar] = makeBars([call(1, 0, 1000)], [decision(1, 0, 900)], [], 1000);
    expect(bar && [spent(bar, "waiting"), spent(bar, "running")]).toEqual([900, 100]);
  });

  test("a second try of a failed call is named as one", () => {
    const failed = call(1, 0, 10, { state: "failed" });
    const bars = makeBars([failed, call(2, 20, 30), call(3, 40, 50, { argumentsDigest: "other" })], [], [], 100);
    expect(bars.map((bar) => bar.again)).toEqual(["", "retry of 1", ""]);
  });

  test("a denied call and a timer look like what they are", () => {
    const denied = call(1, 0, 10, { state: "failed", error: { code: "denied" } } as Partial<CallHead>);
    const bars = makeBars([denied, call(2, 20, 90, { kind: "timer" })], [], [], 100);
    expect(bars.map((bar) => bar.look)).toEqual(["denied", "sleeping"]);
    expect(bars[1]?.parts).toEqual([{ from: 20, to: 90, kind: "sleeping" }]);
  });
});

describe("scale", () => {
  const busy = [
    { from: 0, to: 1000 },
    { from: 500, to: 2000 },
    { from: 3_600_000, to: 3_601_000 },
  ];
  const scale = makeScale(busy, 0, 3_601_000);

  test("an hour in which nothing ran takes little room", () => {
    expect(scale.stretches.map((one) => one.short)).toEqual([false, true, false]);
    expect(scale.size).toBeLessThan(5000);
  });

  test("places keep their order, from 0 to 1", () => {
    const places = [0, 500, 2000, 1_800_000, 3_600_000, 3_600_500, 3_601_000].map((one) => place(scale, one));
    expect(places).toEqual([...places].sort((one, other) => one - other));
    expect([places[0], places.at(-1), place(scale, 9e9)]).toEqual([0, 1, 1]);
  });

  test("ticks are far enough apart, and counting begins again behind a shortened stretch", () => {
    const made = ticks(scale, 900);
    expect(made[0]).toEqual({ at: 0, label: "0" });
    expect(made.some((tick) => tick.at === 3_600_000 && /^\d\d:\d\d:\d\d$/.test(tick.label))).toBe(true);
    expect(made.length).toBeLessThan(15);
  });

  test("nothing at all still has a scale", () => {
    expect(makeScale([], 5, 5)).toMatchObject({ stretches: [], size: 1 });
    expect(place(makeScale([], 5, 5), 5)).toBe(0);
  });
});
