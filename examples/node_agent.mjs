// An agent for Node 18 or later, without packages: a cap on its turns, a result for every call.
//
// LLM_BASE_URL says where the model is, FAKEPROVIDER_MAX_TURNS how many calls of it are allowed.

const base = process.env.LLM_BASE_URL;
const turns = Number(process.env.FAKEPROVIDER_MAX_TURNS ?? 20);
const RETRIED = new Set([408, 409, 429, 500, 502, 503, 504, 529]);

const notes = { n0: "nothing", n1: "a timeout" };
const name = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const tools = {
  read_note: { description: "Read one note.", parameters: name, run: ({ name }) => notes[name] ?? "no such note" },
};
const offered = Object.entries(tools).map(([name, { description, parameters }]) => (
  { type: "function", function: { name, description, parameters } }));

const wait = ms => new Promise(done => setTimeout(done, ms));

async function ask(messages, attempts = 4) {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`${base}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
      body: JSON.stringify({ model: "any", messages, tools: offered }),
    });
    if (answer.ok) return answer.json();
    const text = await answer.text();
    if (!RETRIED.has(answer.status) || text.includes("insufficient_quota") || attempt === attempts)
      throw new Error(`${answer.status} ${text}`);
    const told = Number(answer.headers.get("retry-after-ms") ?? 1000 * Number(answer.headers.get("retry-after") ?? 0));
    await wait(Math.max(told || 0, 120 * attempt));
  }
}

function result({ name, arguments: given }) {
  try {
    const parsed = JSON.parse(given);
    return tools[name] ? String(tools[name].run(parsed)) : `Error: not run, invalid: there is no ${name}`;
  } catch (error) {
    return `Error: not run, invalid arguments: ${error.message}`;
  }
}

const messages = [{ role: "user", content: process.env.FAKEPROVIDER_TASK ?? "Which note mentions a timeout?" }];
const seen = new Map();
for (let turn = 1; turn <= turns; turn++) {
  const { choices: [{ message, finish_reason: finish }] } = await ask(messages);
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content);
    process.exit(0);
  }
  for (const call of message.tool_calls) {
    const content = finish === "tool_calls" ? result(call.function) : "Not run: the reply was cut off.";
    messages.push({ role: "tool", tool_call_id: call.id, content });
    const key = JSON.stringify([call.function, content]);
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (seen.get(key) > 3) stop(`${call.function.name} says the same again and again`);
  }
}
stop(`stopped after ${turns} turns`);

function stop(why) {
  console.error(why);
  process.exit(3);
}
