// The TypeScript SDK as a program would use it. Prints the names of the tools and the instructions, then makes the calls
// that it reads, one JSON object a line, and prints the text of each result.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { command, args, url, headers } = JSON.parse(process.argv[2]);
const transport = command
  ? new StdioClientTransport({ command, args, env: process.env })
  : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const client = new Client({ name: "trial", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const say = (value) => console.log(JSON.stringify(value));
say({ tools: tools.map(({ name }) => name), instructions: client.getInstructions() ?? "" });
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: given } = JSON.parse(line);
  const result = await client.callTool({ name: tool, arguments: given });
  say({ text: result.content.map(({ text }) => text ?? "").join("\n") });
}
await client.close();
