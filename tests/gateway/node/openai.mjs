// Drives the gateway with the openai package: a chat, a stream, a tool call, a refusal. Prints what came back as JSON.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "unused", maxRetries: 0 });
const messages = [{ role: "user", content: "Who?" }];
const tools = [{
  type: "function",
  function: { name: "book", parameters: { type: "object", properties: { day: { type: "integer" } }, required: ["day"] } },
}];

const chat = await client.chat.completions.create({ model: "m", messages });
const pieces = [];
for await (const chunk of await client.chat.completions.create({ model: "m", messages, stream: true })) {
  pieces.push(chunk.choices[0]?.delta?.content ?? "");
}
const called = await client.chat.completions.create({ model: "tools", messages, tools });
let refused = null;
try {
  await client.chat.completions.create({ model: "bad", messages });
} catch (error) {
  refused = { status: error.status, type: error.type, code: error.code };
}
console.log(JSON.stringify({
  chat: chat.choices[0].message.content, stream: pieces.join(""), call: called.choices[0].message.tool_calls[0].function, refused,
}));
