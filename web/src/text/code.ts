// How a call is written in code and in a terminal.
const NAME = /^[A-Za-z_$][\w$]*$/;

export function reference(path: string): string {
  return path
    .split(".")
    .reduce((made, part) => made + (NAME.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`), "tools");
}

export function callCode(path: string, args: unknown): string {
  return `return await ${reference(path)}(${JSON.stringify(args, null, 2)})`;
}

export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function command(...words: string[]): string {
  return ["executor", ...words.map(quoted)].join(" ");
}
