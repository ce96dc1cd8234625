import { Link } from "@tanstack/react-router";
import { looks } from "@/ui/button";
import { Page } from "@/ui/page";

export function Nowhere() {
  return (
    <Page title="Page not found" about="The address may be incomplete: copy the whole link.">
      <Link to="/" className={looks("primary")}>
        Go to sources
      </Link>
    </Page>
  );
}
