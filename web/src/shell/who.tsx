import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleUser, LogOut, Monitor, Moon, Settings, Sun } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { useVisitor, whoami } from "@/api/queries";
import { visible } from "@/text/visible";
import { useSignOut } from "./entering";
import { HEADING, ITEM, MENU, SEPARATOR } from "./menu";
import { chooseTheme, chosenTheme, type Theme } from "./theme";

const THEMES: [Theme, string, typeof Sun][] = [
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
  ["system", "System", Monitor],
];

export function WhoMenu({ short }: { short?: boolean }) {
  const who = useQuery(whoami).data;
  const visitor = useVisitor();
  const signOut = useSignOut();
  const navigate = useNavigate();
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger
        aria-label="Account and appearance"
        className="flex h-8 min-w-0 items-center gap-2 rounded-lg px-2 text-left text-sm transition-colors hover:bg-raised data-[state=open]:bg-raised"
      >
        <CircleUser size={17} aria-hidden="true" className="shrink-0 text-dim" />
        {!short && <span className="truncate">{visible(who?.name ?? "")}</span>}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content align="start" sideOffset={6} className={MENU}>
          <div className={HEADING}>
            {visible(who?.name ?? "")} · {who?.role ?? who?.kind}
          </div>
          <Menu.RadioGroup value={chosenTheme()} onValueChange={(theme) => chooseTheme(theme as Theme)}>
            {THEMES.map(([theme, title, Icon]) => (
              <Menu.RadioItem key={theme} value={theme} className={ITEM}>
                <Icon size={14} aria-hidden="true" /> {title}
                <Menu.ItemIndicator className="ml-auto text-accent">✓</Menu.ItemIndicator>
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
          {!visitor && (
            <>
              <Menu.Separator className={SEPARATOR} />
              <Menu.Item className={ITEM} onSelect={() => void navigate({ to: "/settings" })}>
                <Settings size={14} aria-hidden="true" /> Settings
              </Menu.Item>
              <Menu.Item className={ITEM} onSelect={signOut}>
                <LogOut size={14} aria-hidden="true" /> Sign out
              </Menu.Item>
            </>
          )}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
