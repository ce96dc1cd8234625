import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Check, ChevronsUpDown, Plus } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { whoami } from "@/api/queries";
import { visible } from "@/text/visible";
import { useEnter, useWorkspaces, type Workspace } from "./entering";
import { Mark } from "./mark";
import { HEADING, ITEM, MENU, SEPARATOR } from "./menu";

/** Where one is, always in sight, and the way to elsewhere. */
export function Switcher({ short }: { short?: boolean }) {
  const who = useQuery(whoami).data;
  const name = visible(who?.workspace.name ?? "");
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger
        aria-label={`Workspace ${name}: switch`}
        className="flex w-full min-w-0 items-center gap-2.5 rounded-lg px-2 py-1.5 text-left transition-colors hover:bg-raised data-[state=open]:bg-raised"
      >
        <Mark size={short ? 22 : 26} />
        <span className="min-w-0 flex-1">
          <span className="block truncate font-semibold text-sm leading-tight tracking-tight">{name}</span>
          {!short && (
            <span className="block truncate text-dim text-xs leading-tight">
              {visible(who?.organization.name ?? "")}
            </span>
          )}
        </span>
        <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-dim" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content align="start" sideOffset={6} className={MENU}>
          <Places />
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

function Places() {
  const places = useWorkspaces();
  const enter = useEnter();
  const navigate = useNavigate();
  const may = useQuery(whoami).data?.permissions.includes("manage") ?? false;
  return (
    <>
      {[...grouped(places)].map(([organization, inside]) => (
        <Menu.Group key={organization}>
          <Menu.Label className={HEADING}>{visible(organization)}</Menu.Label>
          {inside.map((place) => (
            <Menu.Item key={place.id} className={ITEM} onSelect={() => !place.current && void enter(place.id)}>
              <span className="grid size-4 shrink-0 place-items-center">
                {place.current && <Check size={14} aria-label="current" />}
              </span>
              <span className="min-w-0 truncate">{visible(place.name)}</span>
              {place.role && <span className="ml-auto pl-3 text-dim text-xs">{place.role}</span>}
            </Menu.Item>
          ))}
        </Menu.Group>
      ))}
      {may && (
        <>
          <Menu.Separator className={SEPARATOR} />
          <Menu.Item className={ITEM} onSelect={() => void navigate({ to: "/settings", search: { tab: "place" } })}>
            <Plus size={14} aria-hidden="true" /> New workspace…
          </Menu.Item>
        </>
      )}
    </>
  );
}

function grouped(places: Workspace[]): Map<string, Workspace[]> {
  const made = new Map<string, Workspace[]>();
  for (const place of places) made.set(place.organization.name, [...(made.get(place.organization.name) ?? []), place]);
  return made;
}
