import { duration } from "@/text/time";
import type { CallHead, Decided } from "../queries";
import type { Span } from "./scale";

export type Kind = "waiting" | "running" | "sleeping";
export type Part = Span & { kind: Kind };
export type Look = "waiting" | "running" | "sleeping" | "succeeded" | "failed" | "denied" | "abandoned";
export type Bar = Span & { call: CallHead; lane: number; parts: Part[]; look: Look; again: string };

/** One bar a call, in as few lanes as keep apart what overlaps: more than one lane means that calls ran together. */
export function makeBars(calls: CallHead[], asked: Decided[], recovered: number[], now: number): Bar[] {
  const decisions = new Map<number, Decided[]>();
  for (const one of asked) decisions.set(one.callSeq ?? 0, [...(decisions.get(one.callSeq ?? 0) ?? []), one]);
  const lanes: Span[] = [];
  const failed = new Map<string, number>();
  const ordered = [...calls].sort((one, other) => one.seq - other.seq);
  return ordered.map((call) => {
    const from = Date.parse(call.createdAt);
    const to = Math.max(call.finishedAt ? Date.parse(call.finishedAt) : now, from);
    const lane = freeLane(lanes, from);
    lanes[lane] = { from, to };
    const again = repetition(call, failed, recovered);
    if (call.state === "failed") failed.set(`${call.path} ${call.argumentsDigest}`, call.seq);
    return {
      call,
      from,
      to,
      lane,
      parts: parts(call, decisions.get(call.seq) ?? [], from, to),
      look: look(call),
      again,
    };
  });
}

/** Times are whole milliseconds: what begins when another ends comes after it, unless both began together. */
function freeLane(lanes: Span[], from: number): number {
  const free = lanes.findIndex((last) => last.to < from || (last.to === from && last.from < from));
  return free < 0 ? lanes.length : free;
}

function repetition(call: CallHead, failed: Map<string, number>, recovered: number[]): string {
  const started = call.startedAt ? Date.parse(call.startedAt) : undefined;
  const finished = call.finishedAt ? Date.parse(call.finishedAt) : Number.POSITIVE_INFINITY;
  if (started !== undefined && recovered.some((at) => at > started && at < finished))
    return "sent again after a restart";
  const before = failed.get(`${call.path} ${call.argumentsDigest}`);
  return before && call.kind === "tool" ? `retry of ${before}` : "";
}

export function look(call: CallHead): Look {
  if (call.state === "started") return call.kind === "timer" ? "sleeping" : "running";
  if (call.state === "proposed") return "waiting";
  if (call.state === "failed") return call.error?.code === "denied" ? "denied" : "failed";
  if (call.state === "succeeded" && call.kind === "timer") return "sleeping";
  return call.state;
}

/** When a human was waited for, and when it ran. */
function parts(call: CallHead, asked: Decided[], from: number, to: number): Part[] {
  if (call.kind === "timer") return [{ from, to, kind: "sleeping" }];
  const made: Part[] = [];
  let at = from;
  const add = (until: number, kind: Kind) => {
    const end = Math.min(Math.max(until, at), to);
    const last = made.at(-1);
    if (end > at && last?.kind === kind) last.to = end;
    else if (end > at) made.push({ from: at, to: end, kind });
    at = end;
  };
  const rest: Kind = call.startedAt ? "running" : "waiting";
  for (const one of [...asked].sort((a, b) => a.createdAt.localeCompare(b.createdAt))) {
    add(Date.parse(one.createdAt), made.length ? rest : "waiting");
    add(one.settledAt ? Date.parse(one.settledAt) : to, "waiting");
  }
  add(to, rest);
  return made;
}

export function spent(bar: Bar, kind: Kind): number {
  return bar.parts.reduce((sum, part) => sum + (part.kind === kind ? part.to - part.from : 0), 0);
}

export const LOOKS: Record<Look, string> = {
  waiting: "needs a decision",
  running: "running",
  sleeping: "timer",
  succeeded: "succeeded",
  failed: "failed",
  denied: "denied",
  abandoned: "never sent",
};

/** A bar in words: what its picture says. */
export function describe(bar: Bar): string {
  const { call } = bar;
  const waited = spent(bar, "waiting");
  const ran = spent(bar, "running");
  const said = [`${call.seq}: ${call.path || call.kind}`, LOOKS[bar.look]];
  if (waited > 0) said.push(`${bar.look === "waiting" ? "for" : "waited"} ${duration(waited)}`);
  if (call.startedAt && call.kind === "tool") said.push(`${bar.look === "running" ? "for" : "ran"} ${duration(ran)}`);
  if (call.kind === "timer") said.push(duration(bar.to - bar.from));
  if (call.error) said.push(String(call.error.message ?? call.error.code));
  if (bar.again) said.push(bar.again);
  return said.join(", ");
}
