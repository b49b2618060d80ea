import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The agent's address for `npm run dev`; the built page uses its own origin.
const agent = process.env.DJINN_URL ?? "http://127.0.0.1:9000";
const routes = ["/runs", "/sessions", "/modes", "/tools", "/keys", "/web", "/v1", "/respond"];

export default defineConfig({
  plugins: [react()],
  define: { "import.meta.env.VITE_PAGE_VERSION": JSON.stringify(process.env.VITE_PAGE_VERSION ?? "") },
  build: {
    outDir: process.env.PAGE_OUT ?? "../target/web",
    emptyOutDir: true,
    target: "es2023",
    // No inlined data and no inline scripts: the page's policy allows neither.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { input: { index: "index.html" } },
  },
  // Far above what a test takes on two busy cores.
  test: { testTimeout: 60_000 },
  server: { proxy: Object.fromEntries(routes.map((route) => [route, { target: agent, changeOrigin: true }])) },
});
