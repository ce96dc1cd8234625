// Watches and awaits an execution while its daemon is killed and started again; prints what it saw.
import { Executor } from "../dist/index.js";

const executor = new Executor();
const paused = await executor.run("return await tools.demo.invoices.createInvoice({customer: 'Ada', amount: 5})");
const seen = [];
const stream = (async () => {
  for await (const event of executor.stream(paused)) seen.push(event);
})();
const ended = executor.wait(paused);
while (!seen.length) await new Promise((done) => setTimeout(done, 10));
console.log(JSON.stringify({ interaction: paused.interactions[0].id }));
await stream;
const ids = seen.map((event) => event.id);
console.log(JSON.stringify({ status: (await ended).status, last: seen.at(-1).type, ids }));
