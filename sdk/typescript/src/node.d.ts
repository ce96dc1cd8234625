// The few functions of Node that are used, so that building needs no package of types.
declare module "node:child_process" {
  export function execFile(
    file: string,
    arguments_: string[],
    options: { timeout: number },
    callback: (error: Error | null, stdout: string) => void,
  ): void;
}
declare module "node:fs/promises" {
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
  export function stat(path: string): Promise<{ ino: number }>;
}
declare module "node:os" {
  export function homedir(): string;
}
declare module "node:path" {
  export function join(...parts: string[]): string;
  export function resolve(path: string): string;
}
declare module "node:process" {
  const process: { env: Record<string, string | undefined>; platform: string };
  export default process;
}
