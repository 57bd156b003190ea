// opencode from npm, headless: `opencode run`, against loopback only.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bin = join(dirname(fileURLToPath(import.meta.url)), "node_modules", ".bin", "opencode");
const config = join(process.env.HOME, "opencode.json");
writeFileSync(
  config,
  JSON.stringify({
    model: "scripted/gpt-4.1",
    autoupdate: false,
    share: "disabled",
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: process.env.OPENAI_BASE_URL, apiKey: "any" },
        models: { "gpt-4.1": {} },
      },
    },
  }),
);
const done = spawnSync(bin, ["run", "Which file mentions a timeout?"], {
  env: { ...process.env, OPENCODE_CONFIG: config },
  stdio: ["ignore", "inherit", "inherit"],
});
process.exit(done.status ?? 1);
