// Codex from npm, headless: `codex exec`, against loopback only.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bin = join(dirname(fileURLToPath(import.meta.url)), "node_modules", ".bin", "codex");
const provider = `{ name = "scripted", base_url = "${process.env.OPENAI_BASE_URL}", wire_api = "responses", env_key = "OPENAI_API_KEY" }`;
const done = spawnSync(
  bin,
  [
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "-c",
    'model_provider="scripted"',
    "-c",
    `model_providers.scripted=${provider}`,
    "-c",
    'model="gpt-4.1"',
    "Which file mentions a timeout?",
  ],
  { stdio: ["ignore", "inherit", "inherit"] },
);
process.exit(done.status ?? 1);
