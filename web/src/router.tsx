import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from "@tanstack/react-router";
import { query } from "@/api/client";
import { ApprovalsPage } from "@/pages/approvals/approvals";
import { NAMES } from "@/pages/executions/filters";
import { Nowhere } from "@/pages/nowhere";
import { SignInPage } from "@/pages/signin/signin";
import { SourcesPage } from "@/pages/sources/sources";
import { Broken } from "@/shell/broken";
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
  component: lazyRouteComponent(() => import("@/pages/signin/invitation"), "InvitationPage"),
});
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });
const questions = texts("show", "actor", "source");
const under = { getParentRoute: () => shell } as const;

const routes = [
  createRoute({ ...under, path: "/", component: SourcesPage }),
  createRoute({ ...under, path: "/approvals", component: ApprovalsPage, validateSearch: questions }),
  createRoute({ ...under, path: "/approvals/$id", component: ApprovalsPage, validateSearch: questions }),
  createRoute({
    ...under,
    path: "/connect/$id",
    component: lazyRouteComponent(() => import("@/pages/connect/connect"), "ConnectPage"),
    validateSearch: texts("error", "message", "done"),
  }),
  createRoute({
    ...under,
    path: "/executions",
    component: lazyRouteComponent(() => import("@/pages/executions/executions"), "ExecutionsPage"),
    validateSearch: texts(...NAMES),
  }),
  createRoute({
    ...under,
    path: "/executions/$id",
    component: lazyRouteComponent(() => import("@/pages/executions/execution"), "ExecutionPage"),
    validateSearch: texts("tab", "call"),
  }),
  createRoute({
    ...under,
    path: "/sources/add",
    component: lazyRouteComponent(() => import("@/pages/sources/add"), "AddSourcePage"),
    validateSearch: texts("location", "kind", "connected"),
  }),
  createRoute({
    ...under,
    path: "/sources/$id",
    component: lazyRouteComponent(() => import("@/pages/sources/source"), "SourcePage"),
    validateSearch: texts("tool", "q", "tab", "view", "at", "args"),
  }),
  createRoute({
    ...under,
    path: "/sources/$id/edit",
    component: lazyRouteComponent(() => import("@/pages/sources/edit"), "EditSourcePage"),
  }),
  createRoute({
    ...under,
    path: "/policies",
    component: lazyRouteComponent(() => import("@/pages/policies/policies"), "PoliciesPage"),
    validateSearch: texts("path", "rule"),
  }),
  createRoute({
    ...under,
    path: "/secrets",
    component: lazyRouteComponent(() => import("@/pages/secrets/secrets"), "SecretsPage"),
  }),
  createRoute({
    ...under,
    path: "/audit",
    component: lazyRouteComponent(() => import("@/pages/audit/audit"), "AuditPage"),
    validateSearch: texts("actor", "type", "since", "until", "before"),
  }),
  createRoute({
    ...under,
    path: "/playground",
    component: lazyRouteComponent(() => import("@/pages/playground/playground"), "PlaygroundPage"),
    validateSearch: texts("from", "language", "tool", "run"),
  }),
  createRoute({
    ...under,
    path: "/settings",
    component: lazyRouteComponent(() => import("@/pages/settings/settings"), "SettingsPage"),
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
