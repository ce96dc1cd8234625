import { useState } from "react";
import { noticesAreOn, switchNotices } from "@/live/notices";
import { chooseTheme, chosenTheme, type Theme } from "@/shell/theme";
import { Choice, Tick } from "@/ui/field";
import { Section } from "@/ui/page";

export function Appearance() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const [notices, setNotices] = useState(noticesAreOn);
  const choose = (chosen: Theme) => {
    setTheme(chosen);
    chooseTheme(chosen);
  };
  return (
    <Section title="Appearance" about="Kept in this browser only">
      <div className="max-w-xs space-y-4">
        <Choice label="Colours" value={theme} onChange={(event) => choose(event.target.value as Theme)}>
          <option value="system">As the system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </Choice>
        <Tick
          checked={notices}
          onChange={async (event) => setNotices(await switchNotices(event.target.checked))}
          label="Notify me on this desktop when a decision is needed"
        />
      </div>
    </Section>
  );
}
