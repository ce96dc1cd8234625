import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleUser, Moon, Sun } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { chooseWorkspace, get, post } from "@/api/client";
import { whoami } from "@/api/queries";
import { visible } from "@/text/visible";
import { tellProblem } from "@/ui/toast";
import { chooseTheme } from "./theme";

type Places = { items: { id: string; name: string; current: boolean; organization: { name: string } }[] };

const ITEM =
  "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[highlighted]:bg-raised";

export function WhoMenu({ short }: { short?: boolean }) {
  const who = useQuery(whoami).data;
  const client = useQueryClient();
  const places = useQuery({ queryKey: ["workspaces"], queryFn: () => get<Places>("/v1/workspaces") }).data?.items ?? [];
  const signOut = async () => {
    try {
      await post("/v1/auth/sign-out");
      client.clear();
      window.location.assign("/sign-in");
    } catch (error) {
      tellProblem(error);
    }
  };
  const enter = (id: string) => {
    chooseWorkspace(id);
    window.location.assign("/");
  };
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger
        aria-label="Account and appearance"
        className="flex min-w-0 items-center gap-2 rounded-lg px-1.5 py-1 text-left text-sm hover:bg-raised"
      >
        <CircleUser size={17} aria-hidden="true" className="shrink-0 text-dim" />
        {!short && <span className="truncate">{visible(who?.name ?? "")}</span>}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content align="start" sideOffset={6} className="card z-40 min-w-56 p-1.5">
          <div className="px-2 py-1 text-dim text-xs">
            {visible(who?.workspace.name ?? "")} · {who?.role ?? who?.kind}
          </div>
          {places.length > 1 &&
            places.map((place) => (
              <Menu.Item key={place.id} className={ITEM} onSelect={() => enter(place.id)}>
                <span aria-hidden="true">{place.current ? "✓" : " "}</span> {visible(place.name)}
              </Menu.Item>
            ))}
          <Menu.Separator className="my-1 h-px bg-line" />
          {short && (
            <Menu.Item className={ITEM} asChild>
              <Link to="/audit">Audit</Link>
            </Menu.Item>
          )}
          <Menu.Item className={ITEM} onSelect={() => chooseTheme("light")}>
            <Sun size={14} aria-hidden="true" /> Light
          </Menu.Item>
          <Menu.Item className={ITEM} onSelect={() => chooseTheme("dark")}>
            <Moon size={14} aria-hidden="true" /> Dark
          </Menu.Item>
          <Menu.Item className={ITEM} onSelect={() => chooseTheme("system")}>
            As the system
          </Menu.Item>
          <Menu.Separator className="my-1 h-px bg-line" />
          <Menu.Item className={ITEM} onSelect={signOut}>
            Sign out
          </Menu.Item>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
