import { memo, useEffect, useRef } from "react";
import { Button } from "@/ui/button";
import { Empty, Skeleton, Trouble } from "@/ui/states";
import { useTranscript } from "./follow";
import { Record } from "./record";
import { inOrder } from "./transcript";

const Shown = memo(Record);
const NEAR = 120; // pixels: then one is reading the end

/** Stays at the end while one is there, and where one reads otherwise. */
export function TranscriptView({ id }: { id: string }) {
  const { transcript, error, earlier, readEarlier } = useTranscript(id);
  const list = useRef<HTMLOListElement>(null);
  const atEnd = useRef(true);
  const shown = transcript !== undefined;
  // Records also grow after they have come: an approval is read when it is shown.
  useEffect(() => {
    const element = list.current;
    if (!shown || !element) return;
    const growth = new ResizeObserver(() => {
      if (atEnd.current) element.scrollTop = element.scrollHeight;
    });
    for (const one of element.children) growth.observe(one);
    const arrivals = new MutationObserver((made) => {
      for (const { addedNodes } of made) for (const one of addedNodes) growth.observe(one as Element);
    });
    arrivals.observe(element, { childList: true });
    return () => {
      growth.disconnect();
      arrivals.disconnect();
    };
  }, [shown]);
  if (error) return <Trouble error={error} />;
  if (!transcript) return <Skeleton rows={6} />;
  const records = inOrder(transcript);
  return (
    <ol
      ref={list}
      aria-label="Transcript"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
      }}
      className="max-h-[60dvh] min-h-40 space-y-3 overflow-y-auto pr-1"
    >
      {earlier && (
        <li className="text-center">
          <Button size="small" onClick={() => void readEarlier()}>
            Show earlier records
          </Button>
        </li>
      )}
      {records.length === 0 && (
        <li>
          <Empty title="Nothing yet">Send a prompt below. The agent starts with the first one.</Empty>
        </li>
      )}
      {records.map((record) => (
        <li key={record.id} className="min-w-0 [contain-intrinsic-size:auto_3rem] [content-visibility:auto]">
          <Shown record={record} />
        </li>
      ))}
    </ol>
  );
}
