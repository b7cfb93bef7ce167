// A TypeScript application's side of it: no Python, only fetch. Usage: node check.mjs GATEWAY_URL
const gateway = process.argv[2];

async function validateResponse(messages) {
  const response = await fetch(`${gateway}/v1/check`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer app-key" },
    body: JSON.stringify({ contract: "chat-quota", messages, model: "cerebras-1" }),
  });
  const verdict = await response.json();
  if (!response.ok) throw new Error(verdict.error.message);
  return { isValid: verdict.ok, reason: verdict.reason, metrics: verdict.metrics, id: verdict.id };
}

const asked = { role: "user", content: "Create a document" };
const call = { toolCallId: "c1", toolName: "createDocument", args: {}, state: "result", result: "doc-123" };
const results = [
  await validateResponse([asked, { role: "assistant", content: "", toolInvocations: [call] }]),
  await validateResponse([
    asked,
    { role: "assistant", content: "Done! I've created the document.", toolInvocations: [call] },
  ]),
  await validateResponse([]).catch((error) => error.message),
];
console.log(JSON.stringify(results));
