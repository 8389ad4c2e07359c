import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server that `npm run dev` shows the pages of.
const server = "http://127.0.0.1:8377";

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
  server: { proxy: { "/api": server, "/v1": server, "/healthz": server, "/readyz": server } },
  test: { environment: "node", include: ["tests/**/*.test.ts"] },
});
