// What the official SDKs for Node make of each fault: cases as JSON on stdin, a line of JSON each.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const TASK = "Which of the two is it?";
const TIMEOUT = 5000; // milliseconds; the SDKs' own setting
const AT_ONCE = 10;
const schema = { type: "object", properties: { path: { type: "string" } } };

async function chat({ url, stream, cap }) {
  const client = new OpenAI({ baseURL: url, apiKey: "any", timeout: TIMEOUT });
  const asked = {
    model: "m",
    messages: [{ role: "user", content: TASK }],
    tools: [{ type: "function", function: { name: "read_file", parameters: schema } }],
    ...(cap ? { max_completion_tokens: cap } : {}),
  };
  const found = stream
    ? await client.chat.completions
        .stream({ ...asked, stream_options: { include_usage: true } })
        .finalChatCompletion()
    : await client.chat.completions.create(asked);
  const [choice] = found.choices;
  const calls = choice.message.tool_calls ?? [];
  return {
    text: choice.message.content ?? "",
    calls: calls.map((one) => [one.function.name, one.function.arguments ?? ""]),
    finish: choice.finish_reason,
    usage: found.usage ? [found.usage.prompt_tokens, found.usage.completion_tokens] : null,
  };
}

async function responses({ url, stream, cap }) {
  const client = new OpenAI({ baseURL: url, apiKey: "any", timeout: TIMEOUT });
  const asked = {
    model: "m",
    input: TASK,
    tools: [{ type: "function", name: "read_file", parameters: schema, strict: false }],
    ...(cap ? { max_output_tokens: cap } : {}),
  };
  const found = stream
    ? await client.responses.stream(asked).finalResponse()
    : await client.responses.create(asked);
  const calls = found.output.filter((one) => one.type === "function_call");
  return {
    text: found.output_text,
    calls: calls.map((one) => [one.name, one.arguments]),
    finish: found.status,
    usage: found.usage ? [found.usage.input_tokens, found.usage.output_tokens] : null,
  };
}

async function messages({ url, stream, cap }) {
  const client = new Anthropic({ baseURL: url.replace(/\/v1$/, ""), apiKey: "any", timeout: TIMEOUT });
  const asked = {
    model: "m",
    max_tokens: cap ?? 1000,
    messages: [{ role: "user", content: TASK }],
    tools: [{ name: "read_file", input_schema: schema }],
  };
  const found = stream
    ? await client.messages.stream(asked).finalMessage()
    : await client.messages.create(asked);
  const texts = found.content.filter((block) => block.type === "text");
  const uses = found.content.filter((block) => block.type === "tool_use");
  return {
    text: texts.map((block) => block.text).join(""),
    calls: uses.map((block) => [block.name, JSON.stringify(block.input)]),
    finish: found.stop_reason,
    usage: found.usage ? [found.usage.input_tokens, found.usage.output_tokens] : null,
  };
}

const runners = { chat, responses, messages };
const patience = (promise) =>
  Promise.race([
    promise,
    new Promise((_, reject) => setTimeout(() => reject(new Error("no end after 30 s")), 30_000)),
  ]);

async function seen(one) {
  try {
    return await patience(runners[one.dialect](one));
  } catch (error) {
    const name = error?.message === "no end after 30 s" ? error.message : error?.constructor?.name;
    return { error: `${name ?? error}${error?.status ? ` ${error.status}` : ""}` };
  }
}

process.on("unhandledRejection", () => {}); // a stream helper may reject twice
let input = "";
for await (const part of process.stdin) input += part;
const cases = JSON.parse(input);
const results = new Array(cases.length);
let next = 0;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    while (next < cases.length) {
      const at = next++;
      results[at] = await seen(cases[at]);
    }
  }),
);
process.stdout.write(results.map((one) => JSON.stringify(one)).join("\n") + "\n", () => process.exit(0));
