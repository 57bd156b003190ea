// Claude Code from npm, headless: `claude -p`, against loopback only.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bin = join(dirname(fileURLToPath(import.meta.url)), "node_modules", ".bin", "claude");
const done = spawnSync(
  bin,
  ["-p", "Which file mentions a timeout?", "--allowedTools", "Bash,Read,Glob"],
  {
    env: { ...process.env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    stdio: ["ignore", "inherit", "inherit"],
  },
);
process.exit(done.status ?? 1);
