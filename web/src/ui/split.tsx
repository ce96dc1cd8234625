import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";

type Props = { label: string; name: string; first: ReactNode; second: ReactNode };

const LEAST = 25;
const MOST = 75;

function keptShare(name: string): number {
  try {
    const found = Number(localStorage.getItem(`executor.split.${name}`));
    return found >= LEAST && found <= MOST ? found : 55;
  } catch {
    return 55;
  }
}

/** Two panes with a handle between them; on a narrow screen one below the other. */
export function Split({ label, name, first, second }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [share, setShare] = useState(() => keptShare(name));
  useEffect(() => {
    box.current?.style.setProperty("--share", `${share}fr`);
    box.current?.style.setProperty("--rest", `${100 - share}fr`);
  }, [share]);
  const choose = (wanted: number) => {
    const chosen = Math.round(Math.min(MOST, Math.max(LEAST, wanted)));
    setShare(chosen);
    try {
      localStorage.setItem(`executor.split.${name}`, String(chosen));
    } catch {
      // it holds until the page is loaded again
    }
  };
  const moved = (event: PointerEvent<HTMLDivElement>) => {
    const area = box.current?.getBoundingClientRect();
    if (event.buttons === 1 && area) choose(((event.clientX - area.left) / area.width) * 100);
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowLeft" ? -5 : event.key === "ArrowRight" ? 5 : 0;
    if (!step) return;
    event.preventDefault();
    choose(share + step);
  };
  return (
    <div ref={box} className="split">
      <div className="min-w-0">{first}</div>
      <hr
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={share}
        aria-valuemin={LEAST}
        aria-valuemax={MOST}
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={moved}
        onDoubleClick={() => choose(55)}
        onKeyDown={pressed}
        className="split-handle"
      />
      <div className="min-w-0">{second}</div>
    </div>
  );
}
