import { type RefObject, useEffect, useState } from "react";
import type { ExecutionSummary } from "@/api/types";
import { SHOWN } from "./queries";

/** Whether someone reads the list: scrolled into it, points at it, or is in it with the keyboard. */
function isRead(list: HTMLElement | null): boolean {
  if (window.scrollY > 40) return true;
  return Boolean(list?.matches(":hover") || list?.contains(document.activeElement));
}

/** What is new appears at once where no one reads; else it waits, counted, until the reader wants it or leaves. */
export function useFresh(items: ExecutionSummary[], list: RefObject<HTMLElement | null>) {
  const newest = items[0]?.executionId ?? "";
  const [seen, setSeen] = useState(newest);
  const waiting = items.filter((one) => one.executionId > seen).length;
  useEffect(() => {
    if (!seen || newest < seen || (newest > seen && !isRead(list.current))) setSeen(newest);
  }, [newest, seen, list]);
  useEffect(() => {
    if (waiting === 0) return;
    const left = () => !isRead(list.current) && setSeen(newest);
    addEventListener("scrollend", left);
    return () => removeEventListener("scrollend", left);
  }, [waiting, newest, list]);
  const shown = items.filter((one) => one.executionId <= seen).slice(0, SHOWN);
  const show = () => {
    setSeen(newest);
    scrollTo({ top: 0 });
  };
  return { shown, waiting, show };
}
