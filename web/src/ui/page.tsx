import { type ReactNode, useEffect, useRef } from "react";
import { setTitle } from "@/shell/title";

type Props = { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode; wide?: boolean };

let arrivals = 0;

/** On the way to another page the focus would fall out of the document: the heading takes it, and is read aloud.
 * Not on the first page, which the browser announces itself, and never away from someone who has begun to type. */
function useArrival() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    arrivals += 1;
    const held = document.activeElement;
    const elsewhere = !held || held === document.body || !held.closest("#content, dialog");
    if (arrivals > 1 && elsewhere) heading.current?.focus({ preventScroll: true });
  }, []);
  return heading;
}

/** Every page begins at the same left edge; a `wide` one also takes the room to the right. */
export function Page({ title, about, actions, children, wide }: Props) {
  const heading = useArrival();
  useEffect(() => setTitle(title), [title]);
  return (
    <div className="mx-auto w-full max-w-[96rem] px-4 py-5 sm:px-6 sm:py-7">
      <div className={wide ? "" : "max-w-5xl"}>
        <div className="mb-5 flex flex-wrap items-start justify-between gap-x-4 gap-y-3">
          <div className="min-w-0">
            <h1
              ref={heading}
              tabIndex={-1}
              className="break-words font-semibold text-[1.45rem] leading-8 tracking-[-0.02em] outline-none"
            >
              {title}
            </h1>
            {about && <div className="mt-0.5 max-w-3xl text-dim text-sm">{about}</div>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
        {children}
      </div>
    </div>
  );
}

export function Section({ title, actions, children, about }: Omit<Props, "wide">) {
  return (
    <section className="card mb-4 min-w-0">
      <div className="flex min-h-12 flex-wrap items-center justify-between gap-x-3 gap-y-2 border-line border-b px-4 py-2.5">
        <div className="min-w-0">
          <h2 className="font-semibold text-sm tracking-[-0.005em]">{title}</h2>
          {about && <p className="text-dim text-xs">{about}</p>}
        </div>
        {actions}
      </div>
      <div className="min-w-0 p-4">{children}</div>
    </section>
  );
}
