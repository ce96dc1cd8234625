// Code to begin with. What it calls is what is connected, so that it runs as it is.

import { useQuery } from "@tanstack/react-query";
import { describeTool, searchTools } from "@/api/queries";
import type { Tool } from "@/api/types";
import type { Language } from "./language";

export type Example = { title: string; about: string; code: string };
type Described = Pick<Tool, "path" | "example">;

export const FIRST: Record<Language, string> = {
  typescript: `// Your policies apply to every call. Ctrl+Enter runs it.
const found = await tools.discover({ query: "list", limit: 5 });
return found.items;
`,
  python: `# Your policies apply to every call. Ctrl+Enter runs it.
found = await tools.discover(query="list", limit=5)
found
`,
};

const SLOW: Record<Language, string> = {
  typescript: `for (let step = 1; step <= 5; step += 1) {
  console.log(\`step \${step} of 5\`);
  await new Promise((go) => setTimeout(go, 1000));
}
return "done";
`,
  python: `import asyncio

for step in range(1, 6):
    print(f"step {step} of 5")
    await asyncio.sleep(1)
"done"
`,
};

const result = (call: string, language: Language) =>
  language === "python" ? `found = ${call}\nfound\n` : `const found = ${call};\nreturn found;\n`;

function together(calls: string[], language: Language): string {
  const plain = calls.map((call) => call.replace(/^await /, ""));
  if (language === "python") {
    return `import asyncio\n\nawait asyncio.gather(\n${plain.map((call) => `    ${call},`).join("\n")}\n)\n`;
  }
  return `return await Promise.all([\n${plain.map((call) => `  ${call},`).join("\n")}\n]);\n`;
}

function caught(call: string, language: Language): string {
  if (language === "python") {
    return `try:\n    done = ${call}\nexcept ToolError as error:\n    print("not done:", error.code, error.message)\n    done = None\ndone\n`;
  }
  return `try {\n  return ${call};\n} catch (error) {\n  console.error("not done:", error.code, error.message);\n  return null;\n}\n`;
}

export function made(language: Language, reads: Described[], write: Described | undefined): Example[] {
  const calls = reads.flatMap((one) => one.example ?? []);
  const [first] = calls;
  const found: Example[] = [{ title: "Search for tools", about: "by what you want to do", code: FIRST[language] }];
  if (first && reads[0]) found.push({ title: "Read", about: reads[0].path, code: result(first, language) });
  if (calls.length > 1) {
    found.push({ title: "Several at once", about: "sent together, awaited together", code: together(calls, language) });
  }
  if (write?.example) {
    found.push({ title: "Write, after approval", about: write.path, code: result(write.example, language) });
    found.push({
      title: "Continue after a denial",
      about: "a denial is an error",
      code: caught(write.example, language),
    });
  }
  found.push({ title: "Run for a while", about: "the log appears while it runs", code: SLOW[language] });
  return found;
}

export function useExamples(language: Language): Example[] {
  const asked = useQuery({
    queryKey: ["tools", "examples", language],
    queryFn: async ({ signal }) => {
      const look = async (text: string, effect: string, limit: number) => {
        const { items } = await searchTools({ query: text, effect, limit }, signal);
        return Promise.all(items.map(({ path }) => describe(path, language, signal)));
      };
      const [reads, writes] = await Promise.all([look("list", "read", 5), look("create", "write", 1)]);
      // Those that need nothing first: what an example makes up may not exist there.
      const plain = reads.filter((one) => one.example?.endsWith("()"));
      return made(language, (plain.length ? plain : reads).slice(0, 2), writes[0]);
    },
    staleTime: 300_000,
  });
  return asked.data ?? made(language, [], undefined);
}

export function describe(path: string, language: Language, signal?: AbortSignal): Promise<Described> {
  return describeTool(path, { language, budget: 900 }, signal);
}
