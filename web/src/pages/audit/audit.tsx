import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { whoami } from "@/api/queries";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { AuditFilters } from "./filters";
import { acts, type Filters, listCommand } from "./queries";
import { Acts } from "./rows";
import { Verify } from "./verify";

export function AuditPage() {
  const filters: Filters = useSearch({ from: "/shell/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const [looked, setLooked] = useState(Date.now);
  const [checking, setChecking] = useState(false);
  const asked = useQuery(acts(filters, looked));
  const may = useQuery(whoami).data?.permissions.includes("administer");
  const change = (made: Filters) => {
    setLooked(Date.now());
    void navigate({ search: (now) => ({ ...now, before: undefined, ...made }), replace: true });
  };
  return (
    <Page
      title="Audit"
      wide
      about="Who did what, when and from where. Each entry is sealed to the previous one."
      actions={
        <>
          <Button busy={asked.isFetching} onClick={() => asked.refetch()}>
            Refresh
          </Button>
          {may && (
            <Button aria-expanded={checking} onClick={() => setChecking(!checking)}>
              Verify the log
            </Button>
          )}
        </>
      }
    >
      {may && checking && <Verify />}
      <AuditFilters filters={filters} onChange={change} seen={asked.data?.items ?? []} />
      <Loaded asked={asked} rows={10}>
        {({ items, next }) => (
          <>
            {items.length ? <Acts items={items} /> : <Empty title="No matching events">Remove a filter.</Empty>}
            <nav aria-label="Pages" className="mt-3 flex gap-2">
              {filters.before && (
                <Link to="/audit" search={{ ...filters, before: undefined }} className={looks("plain", "small")}>
                  Newest
                </Link>
              )}
              {next && (
                <Link to="/audit" search={{ ...filters, before: String(next) }} className={looks("plain", "small")}>
                  Older
                </Link>
              )}
            </nav>
          </>
        )}
      </Loaded>
      <div className="mt-4">
        <Command text={listCommand(filters)} />
      </div>
    </Page>
  );
}
