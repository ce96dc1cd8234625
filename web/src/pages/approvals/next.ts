import { useRef, useState } from "react";
import type { Interaction } from "@/api/types";

const KEPT = "executor.next";

/** The request that takes this one's place in the list, also once this one has left it. */
export function useNext(id: string, items: Interaction[]): Interaction | undefined {
  const place = useRef(0);
  const waiting = items.filter((one) => one.status === "pending");
  const at = waiting.findIndex((one) => one.id === id);
  if (at >= 0) place.current = at;
  const others = waiting.filter((one) => one.id !== id);
  return others[Math.min(place.current, others.length - 1)];
}

/** Whether a decision leads to the next request automatically. Kept in this browser. */
export function useGoingOn(): [boolean, (on: boolean) => void] {
  const [on, setOn] = useState(() => localStorage.getItem(KEPT) === "on");
  const turn = (wanted: boolean) => {
    localStorage.setItem(KEPT, wanted ? "on" : "off");
    setOn(wanted);
  };
  return [on, turn];
}
