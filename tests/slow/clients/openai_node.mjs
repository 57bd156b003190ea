// The official openai SDK for Node: `plan`, whole, streamed, and by its own tool runner.
import { readFileSync, readdirSync } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI();
const model = "gpt-4.1";
const start = { role: "user", content: "Which file mentions a timeout?" };
const run = (name, args) =>
  name === "list_files"
    ? JSON.stringify(readdirSync(".").sort())
    : readFileSync(JSON.parse(args || "{}").path, "utf8");
const schemas = [
  { name: "list_files", description: "List the files.", parameters: { type: "object", properties: {} } },
  {
    name: "read_file",
    description: "Read one file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

async function chat(stream) {
  const tools = schemas.map((schema) => ({ type: "function", function: schema }));
  const messages = [start];
  for (;;) {
    const asked = { model, messages, tools };
    const completion = stream
      ? await client.chat.completions.stream(asked).finalChatCompletion()
      : await client.chat.completions.create(asked);
    const { message } = completion.choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls) {
      const content = run(call.function.name, call.function.arguments);
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}

async function byRunner() {
  const tools = schemas.map((schema) => ({
    type: "function",
    function: { ...schema, parse: JSON.parse, function: (args) => run(schema.name, JSON.stringify(args)) },
  }));
  return client.chat.completions.runTools({ model, messages: [start], tools }).finalContent();
}

async function responses(stream, byId) {
  const tools = schemas.map((schema) => ({ type: "function", strict: false, ...schema }));
  let input = [start];
  let previous;
  for (;;) {
    const asked = { model, input, tools };
    if (byId && previous) asked.previous_response_id = previous.id;
    previous = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    const outputs = previous.output
      .filter((item) => item.type === "function_call")
      .map((item) => ({
        type: "function_call_output",
        call_id: item.call_id,
        output: run(item.name, item.arguments),
      }));
    if (!outputs.length) return previous.output_text;
    input = byId ? outputs : [...input, ...previous.output, ...outputs];
  }
}

for (const stream of [false, true]) {
  if (process.env.DIALECT === "chat") console.log(await chat(stream));
  else {
    console.log(await responses(stream, false));
    console.log(await responses(stream, true));
  }
}
if (process.env.DIALECT === "chat") console.log(await byRunner());
