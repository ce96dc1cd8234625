// The Vercel AI SDK as a program would use it: generateText with the tools of an MCP client.
import { generateText, stepCountIs } from "ai";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Stdio } from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

const [address, server, prompt] = process.argv.slice(2);
const { command, args, url, headers } = JSON.parse(server);
const transport = command ? new Stdio({ command, args, env: {} }) : { type: "http", url, headers };
const client = await createMCPClient({ transport });
const provider = createOpenAICompatible({ name: "scripted", baseURL: `${address}/v1`, apiKey: "scripted" });
try {
  const tools = await client.tools();
  const { text } = await generateText({ model: provider("scripted"), tools, prompt, stopWhen: stepCountIs(12) });
  console.log(text);
} finally {
  await client.close();
}
