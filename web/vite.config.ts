import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

declare const process: { env: Record<string, string | undefined> };

// The server that `npm run dev` and `vite preview` show the pages of.
const server = process.env.RECOLLECT_SERVER ?? "http://127.0.0.1:8377";
// The server refuses what a page of another origin sends, so it is told the origin that the page has.
const proxied = { target: server, changeOrigin: false };
const proxy = { "/api": proxied, "/v1": proxied, "/healthz": proxied, "/readyz": proxied };

export default defineConfig({
  plugins: [react(), tailwindcss()],
  // Next to the page, wherever it is served from.
  base: "./",
  build: {
    outDir: "../src/recollect/http/static",
    emptyOutDir: true,
    target: "es2022",
    // Inline parts would need a weaker content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy },
  // A preview is held to the policy of the server, so that what it forbids is seen here first.
  preview: { proxy, headers: { "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'" } },
  test: { environment: "node", include: ["tests/**/*.test.ts"] },
});
