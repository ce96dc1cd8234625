// What must compile, and what must not: checked when the tests are run.
import { approve, type Execution, Executor, type OnInteraction } from "executor-sdk";

const executor = new Executor({ url: "http://127.0.0.1:8788", token: "t" });
const decide: OnInteraction = (interaction) => (interaction.effect === "read" ? approve() : undefined);

export async function typed(): Promise<void> {
  const execution: Execution<number> = await executor.run<number>("return 1", { onInteraction: decide });
  const doubled: number = execution.result * 2;
  const title: string = await executor.call<string>("github.issues.title", { id: doubled });
  await executor.tools.github.issues.list({ state: "open" });
  const [source] = await executor.sources.list();
  const status: "pending" | "connected" | "failing" | string = source?.status ?? title;
  await executor.policies.add("a.**", "allow", { effect: "read", note: status });
  // @ts-expect-error: not an action
  await executor.policies.add("a.**", "permit");
  // @ts-expect-error: not a language
  await executor.run("1", { language: "ruby" });
  // @ts-expect-error: no such field
  execution.outcome;
  for await (const event of executor.stream(execution)) {
    const type: string = event.type;
    console.log(type);
  }
}
