// The lines of docs/sdk-typescript.md, with a model that is scripted.
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Executor } from "executor-sdk";

const executor = new Executor();
const { description, parameters, execute } = executor.executeFunction();
const tools = { execute: tool({ description, inputSchema: jsonSchema<{ code: string }>(parameters), execute }) };

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const code = 'return (await tools.demo.invoices.listInvoices({ status: "open" })).length';
let asked = 0;
const model = new MockLanguageModelV3({
  doGenerate: async () =>
    asked++ === 0
      ? {
          content: [{ type: "tool-call", toolCallId: "1", toolName: "execute", input: JSON.stringify({ code }) }],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: [],
        }
      : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] },
});
const { text, steps } = await generateText({ model, tools, prompt: "how many are open?", stopWhen: stepCountIs(3) });
console.log(JSON.stringify({ text, got: steps[0]?.toolResults[0]?.output }));
