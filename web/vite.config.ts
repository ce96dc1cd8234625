import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const SMALL = 1000; // bytes; below that there is nothing to gain

/** Puts a packed copy beside each large text file, for browsers that accept gzip. */
const packed: Plugin = {
  name: "packed",
  apply: "build",
  writeBundle({ dir = "" }, bundle) {
    for (const name of Object.keys(bundle).filter((name) => /\.(css|js|json|svg)$/.test(name))) {
      const content = readFileSync(join(dir, name));
      if (content.length >= SMALL) writeFileSync(join(dir, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

export default defineConfig({
  plugins: [react(), tailwindcss(), packed],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../src/executor/surfaces/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    // What several pages share comes in one file: in dozens of small ones, each page would cost dozens of requests.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 3 }] } } },
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8788" } },
});
