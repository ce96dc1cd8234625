import type { ReactNode } from "react";

/** `rare` columns are left out where there is no room; their cells say so too. */
type Props = { label: string; head: string[]; rare?: string[]; children: ReactNode };

/** Scrolls within itself on a narrow screen; the page never scrolls sideways. */
export function Table({ label, head, rare = [], children }: Props) {
  return (
    <section aria-label={label} tabIndex={0} className="min-w-0 overflow-x-auto">
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="border-line border-b text-left text-dim text-xs">
            {head.map((name) => (
              <th
                key={name}
                scope="col"
                className={`whitespace-nowrap px-3 py-2 font-medium first:pl-0 last:pr-0 ${rare.includes(name) ? "max-sm:hidden" : ""}`}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="[&_td:first-child]:pl-0 [&_td:last-child]:pr-0 [&_td]:px-3 [&_td]:py-2 [&_td]:align-middle [&_tr:not(:last-child)]:border-line [&_tr:not(:last-child)]:border-b">
          {children}
        </tbody>
      </table>
    </section>
  );
}
