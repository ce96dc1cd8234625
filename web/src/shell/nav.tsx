import { Link, useLocation } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { ITEM, MENU } from "./menu";
import { type Place, usePlaces } from "./places";

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
  const places = usePlaces();
  return (
    <nav aria-label="Main" className="space-y-0.5 px-2">
      {places.map((place) => (
        <Link
          key={place.to}
          to={place.to}
          activeOptions={{ exact: place.to === "/" }}
          className="flex h-8.5 items-center gap-2.5 rounded-lg px-2.5 text-dim text-sm transition-colors hover:bg-raised hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
        >
          <place.icon size={16} aria-hidden="true" />
          {place.title}
          <Count place={place} pending={pending} />
        </Link>
      ))}
    </nav>
  );
}

const SPOT =
  "relative flex h-13 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-dim outline-offset-[-3px] transition-colors active:bg-raised aria-[current=page]:font-medium aria-[current=page]:text-accent data-[state=open]:text-ink";
const WORD = "w-full truncate px-0.5 text-center text-[0.7rem]";

/** On a narrow screen: below, within reach of a thumb. */
export function BottomNav({ pending }: Props) {
  const places = usePlaces();
  return (
    <nav
      aria-label="Main"
      className="fixed inset-x-0 bottom-0 z-20 flex border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {places
        .filter((place) => !place.rare)
        .map((place) => (
          <Link key={place.to} to={place.to} activeOptions={{ exact: place.to === "/" }} className={SPOT}>
            <place.icon size={18} aria-hidden="true" />
            <span className={WORD}>{place.title}</span>
            {place.to === "/approvals" && pending > 0 && (
              <span className="absolute top-1 left-1/2 ml-1.5 min-w-4 rounded-full bg-bad px-1 text-center font-semibold text-[0.65rem] text-surface">
                {pending}
                <span className="sr-only"> waiting</span>
              </span>
            )}
          </Link>
        ))}
      <More />
    </nav>
  );
}

function More() {
  const at = useLocation({ select: (location) => location.pathname });
  const rare = usePlaces().filter((place) => place.rare);
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger aria-current={rare.some((place) => at.startsWith(place.to)) ? "page" : undefined} className={SPOT}>
        <Ellipsis size={18} aria-hidden="true" />
        <span className={WORD}>More</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content align="end" side="top" sideOffset={8} collisionPadding={8} className={MENU}>
          {rare.map((place) => (
            <Menu.Item key={place.to} asChild>
              <Link to={place.to} className={`${ITEM} h-11 aria-[current=page]:text-accent`}>
                <place.icon size={16} aria-hidden="true" /> {place.title}
              </Link>
            </Menu.Item>
          ))}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
