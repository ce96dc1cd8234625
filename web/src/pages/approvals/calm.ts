import { useEffect, useState } from "react";

const CALM = 500;

/** What has just appeared, or just come to the front, can't be answered by a click or key meant for something else. */
export function useCalm(): boolean {
  const [calm, setCalm] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const begin = () => {
      setCalm(false);
      clearTimeout(timer);
      timer = setTimeout(() => setCalm(true), CALM);
    };
    begin();
    window.addEventListener("focus", begin);
    document.addEventListener("visibilitychange", begin);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("focus", begin);
      document.removeEventListener("visibilitychange", begin);
    };
  }, []);
  return calm;
}
