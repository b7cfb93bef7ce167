// Reads an order with the Vercel AI SDK, through a trueup gateway:
//
//   npm ci
//   OPENAI_API_KEY=… trueup serve gateway.yaml
//   npm start "Two teapots, please."
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, Output, streamText } from "ai";
import { z } from "zod";

const gateway = createOpenAICompatible({
  name: "trueup",
  baseURL: process.env.GATEWAY ?? "http://127.0.0.1:8080/v1",
  supportsStructuredOutputs: true,
});
const output = Output.object({ schema: z.object({ item: z.string(), quantity: z.number() }) });
const request = { model: gateway("order"), prompt: process.argv[2] ?? "Two teapots, please.", output };

try {
  const order = await generateText(request);
  console.log(JSON.stringify({ order: order.output, outcome: order.response.headers["x-trueup-outcome"] }));
} catch (error) {
  if (!APICallError.isInstance(error)) throw error;
  console.log(JSON.stringify({ status: error.statusCode, refused: JSON.parse(error.responseBody).error }));
  process.exit(1);
}

for await (const part of streamText(request).partialOutputStream) {
  console.log(JSON.stringify({ part }));
}
