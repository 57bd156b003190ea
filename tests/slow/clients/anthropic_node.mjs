// The official Anthropic SDK for Node: `plan` by hand, whole and streamed.
import { readFileSync, readdirSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const run = (name, input) =>
  name === "list_files" ? JSON.stringify(readdirSync(".").sort()) : readFileSync(input.path, "utf8");
const tools = [
  { name: "list_files", description: "List the files.", input_schema: { type: "object", properties: {} } },
  {
    name: "read_file",
    description: "Read one file.",
    input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

async function byHand(stream) {
  const messages = [{ role: "user", content: "Which file mentions a timeout?" }];
  for (;;) {
    const asked = { model: "claude-sonnet-4-5", max_tokens: 1000, messages, tools };
    const message = stream
      ? await client.messages.stream(asked).finalMessage()
      : await client.messages.create(asked);
    messages.push({ role: "assistant", content: message.content });
    const calls = message.content.filter((block) => block.type === "tool_use");
    if (!calls.length) return message.content[0].text;
    const content = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: run(call.name, call.input),
    }));
    messages.push({ role: "user", content });
  }
}

console.log(await byHand(false));
console.log(await byHand(true));
