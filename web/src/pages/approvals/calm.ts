import { useEffect, useState } from "react";

const CALM = 500;

/** What has just appeared, or just come to the front, can't be answered by a click or key meant for something else.
 * Nor can it when `shown`, the name of what is shown, has just become another. */
export function useCalm(shown = ""): boolean {
  const [calm, setCalm] = useState("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const begin = () => {
      setCalm("");
      clearTimeout(timer);
      timer = setTimeout(() => setCalm(`calm ${shown}`), CALM);
    };
    begin();
    window.addEventListener("focus", begin);
    document.addEventListener("visibilitychange", begin);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("focus", begin);
      document.removeEventListener("visibilitychange", begin);
    };
  }, [shown]);
  return calm === `calm ${shown}`;
}
