import { reference } from "@/text/code";

/** The lines that name a tool as code usually does. Which of them made a certain call, only the code knows. */
export function namedIn(code: string, path: string): number[] {
  const quoted = [`tools["${path}"]`, `tools['${path}']`];
  const names = [reference(path), ...quoted];
  return code.split("\n").flatMap((line, index) => (names.some((name) => has(line, name)) ? [index + 1] : []));
}

function has(line: string, name: string): boolean {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    if (!/[\w$]/.test(line[at + name.length] ?? "") && !/[\w$.]/.test(line[at - 1] ?? "")) return true;
  }
  return false;
}
