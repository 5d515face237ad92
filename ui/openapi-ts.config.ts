import { defineConfig } from "@hey-api/openapi-ts";

// The client is written to src/api, which git ignores: `openapi.json` is the source, and `make docs` renews it.
export default defineConfig({
  input: "openapi.json",
  output: { path: "src/api", clean: true },
  plugins: ["@hey-api/typescript", "@hey-api/sdk", { name: "@hey-api/client-fetch", throwOnError: true }],
});
