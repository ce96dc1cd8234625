import { Link } from "@tanstack/react-router";
import { PLACES, type Place } from "./places";

type Props = { pending: number };

function Count({ place, pending }: { place: Place; pending: number }) {
  if (place.to !== "/approvals" || pending === 0) return null;
  return (
    <span className="ml-auto min-w-5 rounded-full bg-warn-soft px-1.5 text-center font-semibold text-warn text-xs tabular-nums">
      {pending}
      <span className="sr-only"> waiting</span>
    </span>
  );
}

export function SideNav({ pending }: Props) {
  return (
    <nav aria-label="Main" className="space-y-0.5 px-2">
      {PLACES.map((place) => (
        <Link
          key={place.to}
          to={place.to}
          activeOptions={{ exact: place.to === "/" }}
          className="flex h-8.5 items-center gap-2.5 rounded-lg px-2.5 text-dim text-sm hover:bg-raised hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
        >
          <place.icon size={16} aria-hidden="true" />
          {place.title}
          <Count place={place} pending={pending} />
        </Link>
      ))}
    </nav>
  );
}

/** On a narrow screen: below, within reach of a thumb. */
export function BottomNav({ pending }: Props) {
  return (
    <nav
      aria-label="Main"
      className="fixed inset-x-0 bottom-0 z-20 flex border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {PLACES.filter((place) => !place.wide).map((place) => (
        <Link
          key={place.to}
          to={place.to}
          activeOptions={{ exact: place.to === "/" }}
          className="relative flex h-13 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-dim aria-[current=page]:text-accent"
        >
          <place.icon size={18} aria-hidden="true" />
          <span className="w-full truncate px-0.5 text-center text-[0.65rem]">{place.title}</span>
          {place.to === "/approvals" && pending > 0 && (
            <span className="absolute top-1 left-1/2 ml-1.5 min-w-4 rounded-full bg-bad px-1 text-center font-semibold text-[0.65rem] text-surface">
              {pending}
              <span className="sr-only"> waiting</span>
            </span>
          )}
        </Link>
      ))}
    </nav>
  );
}
