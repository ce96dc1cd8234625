// The records of a transcript as they are known here. A record that comes again under its id replaces the one before.
import type { SessionMessage } from "@/api/types";

export type Transcript = {
  records: ReadonlyMap<string, SessionMessage>;
  /** The highest one seen: a stream continues behind it. */
  sequence: number;
};

export type Append = { id: string; sequence: number; text: string };

export const EMPTY: Transcript = { records: new Map(), sequence: 0 };

export function withRecords(before: Transcript, items: readonly SessionMessage[]): Transcript {
  const records = new Map(before.records);
  let { sequence } = before;
  for (const one of items) {
    const known = records.get(one.id);
    if (!known || known.sequence <= one.sequence) records.set(one.id, one);
    sequence = Math.max(sequence, one.sequence);
  }
  return { records, sequence };
}

/** More text of a record. What is not known here, or was seen already, changes nothing. */
export function withAppend(before: Transcript, { id, sequence, text }: Append): Transcript {
  const known = before.records.get(id);
  if (!known || sequence <= known.sequence) return before;
  const records = new Map(before.records).set(id, { ...known, sequence, text: known.text + text });
  return { records, sequence: Math.max(before.sequence, sequence) };
}

export function inOrder({ records }: Transcript): SessionMessage[] {
  return [...records.values()].sort((one, other) => one.position - other.position);
}
