// An agent on the official `openai` package, as anybody would write one: it knows an API and a key.
import OpenAI from "openai";
import { readdirSync, readFileSync } from "node:fs";

const client = new OpenAI();
const tools = [
  { name: "list_files", description: "List the files.", parameters: { type: "object", properties: {} } },
  {
    name: "read_file",
    description: "Read a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
].map((definition) => ({ type: "function", function: definition }));
const run = {
  list_files: () => JSON.stringify(readdirSync(".").sort()),
  read_file: ({ path }) => readFileSync(path, "utf8"),
};

const messages = [{ role: "user", content: "Which file mentions a timeout?" }];
for (;;) {
  const reply = await client.chat.completions.create({ model: "gpt-4.1", messages, tools });
  const message = reply.choices[0].message;
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    const content = run[call.function.name](JSON.parse(call.function.arguments));
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
