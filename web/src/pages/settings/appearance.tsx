import { useState } from "react";
import { noticesAreOn, switchNotices } from "@/live/notices";
import { chooseDensity, chooseTheme, chosenDensity, chosenTheme, type Density, type Theme } from "@/shell/theme";
import { Tick } from "@/ui/field";
import { Section } from "@/ui/page";
import { Segments } from "@/ui/segments";

const THEMES: { id: Theme; title: string }[] = [
  { id: "system", title: "System" },
  { id: "light", title: "Light" },
  { id: "dark", title: "Dark" },
];
const DENSITIES: { id: Density; title: string }[] = [
  { id: "normal", title: "Normal" },
  { id: "compact", title: "Compact" },
];

export function Appearance() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const [density, setDensity] = useState<Density>(chosenDensity);
  return (
    <>
      <Section title="Appearance" about="Saved in this browser only.">
        <dl className="grid max-w-lg grid-cols-[7rem_auto] items-center gap-y-4 text-sm">
          <dt>Colours</dt>
          <dd>
            <Segments
              label="Colours"
              options={THEMES}
              value={theme}
              onChange={(chosen) => {
                setTheme(chosen);
                chooseTheme(chosen);
              }}
            />
          </dd>
          <dt>Density</dt>
          <dd>
            <Segments
              label="Density"
              options={DENSITIES}
              value={density}
              onChange={(chosen) => {
                setDensity(chosen);
                chooseDensity(chosen);
              }}
            />
          </dd>
        </dl>
      </Section>
      <Notices />
    </>
  );
}

function Notices() {
  const [on, setOn] = useState(noticesAreOn);
  const able = "Notification" in window;
  const blocked = able && Notification.permission === "denied";
  return (
    <Section title="Notifications" about="From this browser, while a tab of Executor is open in it.">
      <Tick
        checked={on}
        disabled={!able || blocked}
        onChange={async (event) => setOn(await switchNotices(event.target.checked))}
        label="Notify me on this desktop when a decision is needed"
      />
      <p className="mt-2 text-dim text-xs">
        {blocked
          ? "This browser blocks notifications from this site: allow them in its settings."
          : able
            ? "Notifications say that a decision is needed, never which."
            : "Notifications are not available: they need https or localhost."}
      </p>
    </Section>
  );
}
