// The Vercel AI SDK: `plan` in three dialects, whole and streamed.
import { readFileSync, readdirSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const models = {
  chat: () => createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat("gpt-4.1"),
  responses: () => createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).responses("gpt-4.1"),
  messages: () =>
    createAnthropic({ baseURL: `${process.env.ANTHROPIC_BASE_URL}/v1` })("claude-sonnet-4-5"),
};
const asked = {
  model: models[process.env.DIALECT](),
  prompt: "Which file mentions a timeout?",
  stopWhen: stepCountIs(6),
  tools: {
    list_files: tool({
      description: "List the files.",
      inputSchema: z.object({}),
      execute: async () => JSON.stringify(readdirSync(".").sort()),
    }),
    read_file: tool({
      description: "Read one file.",
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) => readFileSync(path, "utf8"),
    }),
  },
};

console.log((await generateText(asked)).text);
console.log(await streamText(asked).text);
