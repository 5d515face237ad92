import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server allows no inline code and no other host, so assets stay files, however small.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: process.env.FOOTPLATE_PAGE_FOLDER ?? "../src/footplate/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  test: { include: ["src/**/*.test.ts"] },
});
