import { createRootRoute, createRoute, createRouter, Outlet, redirect } from "@tanstack/react-router";
import { query } from "@/api/client";
import { ApprovalsPage } from "@/pages/approvals/approvals";
import { NAMES } from "@/pages/executions/filters";
import { Nowhere } from "@/pages/nowhere";
import { SignInPage } from "@/pages/signin/signin";
import { SourcesPage } from "@/pages/sources/sources";
import { NAMES as TOOL_FILTERS } from "@/pages/tools/filters";
import { Broken } from "@/shell/broken";
import { page } from "@/shell/missing";
import { Shell } from "@/shell/shell";
import { Skeleton } from "@/ui/states";

/** What of the address a page reads: texts only, anything else is left out. */
function texts<Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): Partial<Record<Name, string>> => {
    const found: Partial<Record<Name, string>> = {};
    for (const name of names) {
      const value = search[name];
      if (value !== undefined && value !== "") found[name] = String(value).slice(0, 2000);
    }
    return found;
  };
}

const root = createRootRoute({ component: Outlet, notFoundComponent: Nowhere });
const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: SignInPage,
  validateSearch: texts("to"),
});
const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  component: page(() => import("@/pages/signin/invitation").then((found) => found.InvitationPage)),
});
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
const approvals = texts("show", "actor", "source", "like");
const under = { getParentRoute: () => shell } as const;

const routes = [
  createRoute({ ...under, path: "/", component: SourcesPage }),
  createRoute({
    ...under,
    path: "/sources",
    beforeLoad: () => {
      throw redirect({ to: "/", replace: true });
    },
  }),
  createRoute({ ...under, path: "/approvals", component: ApprovalsPage, validateSearch: approvals }),
  createRoute({ ...under, path: "/approvals/$id", component: ApprovalsPage, validateSearch: approvals }),
  createRoute({
    ...under,
    path: "/connect/$id",
    component: page(() => import("@/pages/connect/connect").then((found) => found.ConnectPage)),
    validateSearch: texts("error", "message", "done"),
  }),
  createRoute({
    ...under,
    path: "/executions",
    component: page(() => import("@/pages/executions/executions").then((found) => found.ExecutionsPage)),
    validateSearch: texts(...NAMES),
  }),
  createRoute({
    ...under,
    path: "/executions/$id",
    component: page(() => import("@/pages/executions/execution").then((found) => found.ExecutionPage)),
    validateSearch: texts("tab", "call"),
  }),
  createRoute({
    ...under,
    path: "/sessions",
    component: page(() => import("@/pages/sessions/sessions").then((found) => found.SessionsPage)),
    validateSearch: texts("status", "agent", "archived", "new", "before"),
  }),
  createRoute({
    ...under,
    path: "/sessions/$id",
    component: page(() => import("@/pages/sessions/session").then((found) => found.SessionPage)),
    validateSearch: texts("tab"),
  }),
  createRoute({
    ...under,
    path: "/sources/add",
    component: page(() => import("@/pages/sources/add").then((found) => found.AddSourcePage)),
    validateSearch: texts("location", "kind", "connected"),
  }),
  createRoute({
    ...under,
    path: "/sources/$id",
    component: page(() => import("@/pages/sources/source").then((found) => found.SourcePage)),
    validateSearch: texts("tool", "q", "tab", "view", "at", "args", "run", "effect", "policy"),
  }),
  createRoute({
    ...under,
    path: "/sources/$id/edit",
    component: page(() => import("@/pages/sources/edit").then((found) => found.EditSourcePage)),
  }),
  createRoute({
    ...under,
    path: "/tools",
    component: page(() => import("@/pages/tools/tools").then((found) => found.ToolsPage)),
    validateSearch: texts("view", ...TOOL_FILTERS),
  }),
  createRoute({
    ...under,
    path: "/toolkits",
    component: page(() => import("@/pages/toolkits/toolkits").then((found) => found.ToolkitsPage)),
  }),
  createRoute({
    ...under,
    path: "/toolkits/$slug",
    component: page(() => import("@/pages/toolkits/toolkit").then((found) => found.ToolkitPage)),
    validateSearch: texts("tab"),
  }),
  createRoute({
    ...under,
    path: "/policies",
    component: page(() => import("@/pages/policies/policies").then((found) => found.PoliciesPage)),
    validateSearch: texts("path", "rule"),
  }),
  createRoute({
    ...under,
    path: "/secrets",
    component: page(() => import("@/pages/secrets/secrets").then((found) => found.SecretsPage)),
  }),
  createRoute({
    ...under,
    path: "/audit",
    component: page(() => import("@/pages/audit/audit").then((found) => found.AuditPage)),
    validateSearch: texts("actor", "type", "since", "until", "before"),
  }),
  createRoute({
    ...under,
    path: "/playground",
    component: page(() => import("@/pages/playground/playground").then((found) => found.PlaygroundPage)),
    validateSearch: texts("from", "language", "tool", "run"),
  }),
  createRoute({
    ...under,
    path: "/settings",
    component: page(() => import("@/pages/settings/settings").then((found) => found.SettingsPage)),
    validateSearch: texts("tab"),
  }),
  // Last: what is no page, with the way to those that are.
  createRoute({ ...under, path: "$", component: Nowhere }),
];

export function createAppRouter() {
  return createRouter({
    routeTree: root.addChildren([signIn, invitation, shell.addChildren(routes)]),
    defaultPreload: "intent",
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => query(search as Record<string, string | undefined>),
    scrollRestoration: true,
    defaultPendingComponent: () => <Skeleton rows={6} className="mx-auto max-w-5xl px-4 py-7 sm:px-6" />,
    defaultErrorComponent: Broken,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
