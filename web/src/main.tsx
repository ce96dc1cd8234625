import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "@/api/client";
import { whoami } from "@/api/queries";
import { createAppRouter } from "@/router";
import { onSignedOut } from "@/shell/entering";
import { watchTheme } from "@/shell/theme";
import "@/styles.css";

/** A session that has ended shows with any request; the frame then leads to where one signs in. */
function ended(error: unknown, key: readonly unknown[]): void {
  const refused = error instanceof Problem && error.status === 401;
  if (refused && key[0] !== whoami.queryKey[0]) void client.invalidateQueries({ queryKey: whoami.queryKey });
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => ended(error, query.queryKey) }),
  defaultOptions: {
    // The daemon may be on this very machine: whether the browser has a network says nothing about it.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 2 && !(error instanceof Problem && error.status >= 400 && error.status < 500),
    },
  },
});

watchTheme();
onSignedOut(() => void client.resetQueries());
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={createAppRouter()} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
