// The modules that need no browser. Pages are tested in one, by tests/surfaces/web.
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  test: { include: ["tests/**/*.test.ts"], environment: "node", isolate: false },
});
