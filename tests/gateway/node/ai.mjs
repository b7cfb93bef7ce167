// Drives the gateway with the ai package: text, a stream of text, an object by schema, a tool that is run.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const provider = createOpenAICompatible({ name: "gateway", baseURL: process.argv[2] + "/v1", supportsStructuredOutputs: true });
const model = provider("m");
const prompt = "Who?";

const text = await generateText({ model, prompt, maxRetries: 0 });
const pieces = [];
for await (const piece of streamText({ model, prompt, maxRetries: 0 }).textStream) pieces.push(piece);
const person = await generateText({
  model, prompt, maxRetries: 0, output: Output.object({ schema: z.object({ name: z.string(), age: z.number() }) }),
});
const days = [];
const book = tool({
  description: "Book a day.", inputSchema: z.object({ day: z.number() }), execute: ({ day }) => { days.push(day); return "booked"; },
});
await generateText({ model: provider("tools"), prompt, tools: { book }, stopWhen: stepCountIs(1), maxRetries: 0 });
console.log(JSON.stringify({ text: text.text, stream: pieces.join(""), object: person.output, days }));
