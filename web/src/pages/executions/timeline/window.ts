import { type RefObject, useLayoutEffect, useState } from "react";

/** What of a box that scrolls is in sight. */
export function useWindow(box: RefObject<HTMLElement | null>) {
  const [seen, setSeen] = useState({ left: 0, top: 0, width: 600, height: 320 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () =>
      setSeen({
        left: element.scrollLeft,
        top: element.scrollTop,
        width: element.clientWidth,
        height: element.clientHeight,
      });
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [box]);
  return seen;
}
