import { useNavigate, useSearch } from "@tanstack/react-router";
import { Page } from "@/ui/page";
import { Tabs } from "@/ui/tabs";
import { About } from "./about";
import { Appearance } from "./appearance";
import { Keys } from "./keys";
import { People } from "./people";
import { Place } from "./place";
import { Sessions } from "./sessions";
import { Webhooks } from "./webhooks";

export function SettingsPage() {
  const { tab } = useSearch({ from: "/shell/settings" });
  const navigate = useNavigate({ from: "/settings" });
  const tabs = [
    { id: "place", title: "Organization", content: <Place /> },
    { id: "people", title: "Members", content: <People /> },
    { id: "keys", title: "Keys and agents", content: <Keys /> },
    { id: "sessions", title: "Sign-in", content: <Sessions /> },
    { id: "webhooks", title: "Webhooks", content: <Webhooks /> },
    { id: "appearance", title: "Appearance and notifications", content: <Appearance /> },
    { id: "about", title: "About", content: <About /> },
  ];
  return (
    <Page title="Settings" about="Access, appearance and system status.">
      <Tabs
        label="Settings"
        tabs={tabs}
        value={tabs.some((one) => one.id === tab) ? (tab ?? "place") : "place"}
        onChange={(id) => void navigate({ search: { tab: id } })}
      />
    </Page>
  );
}
