// On a machine: as given, or the daemon of this machine with the operator's token.
//
// That token is only ever sent to the process that holds the lock of the data directory, so that no one who takes the
// port of a daemon that has ended gets it. On Linux the kernel says which process that is, in /proc/locks; elsewhere,
// and if a configuration file says where the data is, the command `executor` is asked.
import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { DaemonUnreachable } from "./errors.js";
import { type Address, baseOf, checkVisible, type Locate, missingToken, readUrl, type Wanted } from "./location.js";

const LOCAL = new Set(["127.0.0.1", "localhost", "[::1]"]);
const ANYWHERE: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
const ASKED_SECONDS = 5;
let asked: { at: number; running: Promise<Running> } | undefined;

interface Running {
  url: string;
  dataDir: string;
}

export function locate({ url, token = "" }: Wanted): Locate {
  const shown = token || checkVisible((process.env.EXECUTOR_TOKEN ?? "").trim(), "EXECUTOR_TOKEN");
  if (url === undefined) return () => findLocal(shown);
  const read = readUrl(url);
  const base = baseOf(read);
  if (shown) return async () => ({ url: base, token: shown });
  if (!LOCAL.has(read.hostname)) throw missingToken();
  return async () => {
    const own = await findLocal("");
    if (new URL(own.url).port !== read.port) throw missingToken();
    return { url: base, token: own.token };
  };
}

export const defaultWorkspace = (): string => (process.env.EXECUTOR_WORKSPACE ?? "").trim();

async function findLocal(token: string): Promise<Address> {
  const running = (await readRecord()) ?? (await askCommand());
  return { url: running.url, token: token || (await readToken(running.dataDir)) };
}

/** undefined if this can't be found out without the command. */
async function readRecord(): Promise<Running | undefined> {
  const { env } = process;
  if (process.platform !== "linux" || (await configNamesDirectories())) return undefined;
  const given = env.EXECUTOR_DATA_DIR || env.EXECUTOR_RUNTIME_DIR;
  const dataDir = given ? resolve(given) : join(env.XDG_DATA_HOME || join(homedir(), ".local/share"), "executor");
  const stateDir =
    env.EXECUTOR_STATE_DIR ||
    (given ? join(dataDir, "state") : join(env.XDG_STATE_HOME || join(homedir(), ".local/state"), "executor"));
  const holder = await lockHolder(join(dataDir, "daemon.lock"));
  if (holder === undefined) throw notRunning(dataDir);
  const record = await readJson(join(stateDir, "daemon.json"));
  if (record?.pid !== holder || record.dataDir !== dataDir) throw notRunning(dataDir, true);
  const host = ANYWHERE[String(record.host)] ?? String(record.host);
  return { url: `http://${host.includes(":") ? `[${host}]` : host}:${Number(record.port)}`, dataDir };
}

async function configNamesDirectories(): Promise<boolean> {
  const { env } = process;
  const file = env.EXECUTOR_CONFIG || join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "executor/config.toml");
  const text = await readFile(file, "utf8").catch(() => "");
  const isNamed = (name: string, variable: string | undefined) =>
    !variable && new RegExp(`^\\s*${name}\\b`, "m").test(text);
  return (
    isNamed("data_dir", env.EXECUTOR_DATA_DIR || env.EXECUTOR_RUNTIME_DIR) ||
    isNamed("state_dir", env.EXECUTOR_STATE_DIR)
  );
}

/** The process that holds the lock of a file, as the kernel knows it. */
async function lockHolder(file: string): Promise<number | undefined> {
  const inode = (await stat(file).catch(() => undefined))?.ino;
  if (inode === undefined) return undefined;
  for (const line of (await readFile("/proc/locks", "utf8")).split("\n")) {
    // 1: POSIX  ADVISORY  WRITE 4242 fe:01:131104 0 EOF
    const [, kind, , access, pid, place] = line.trim().split(/\s+/);
    if (kind === "POSIX" && access === "WRITE" && place?.split(":")[2] === String(inode)) return Number(pid);
  }
  return undefined;
}

async function askCommand(): Promise<Running> {
  if (asked === undefined || Date.now() - asked.at > ASKED_SECONDS * 1000) {
    asked = { at: Date.now(), running: runStatus() };
    asked.running.catch(() => {
      asked = undefined;
    });
  }
  return asked.running;
}

function runStatus(): Promise<Running> {
  return new Promise((done, fail) => {
    execFile("executor", ["status", "--json"], { timeout: 30_000 }, (error, output) => {
      const status = readObject(output);
      if (status?.running && typeof status.address === "string") {
        done({ url: status.address, dataDir: String(status.dataDir) });
      } else if (status) {
        fail(notRunning(String(status.dataDir)));
      } else {
        const hint = "pass `url` and `token`, or put `executor` on the PATH";
        fail(
          new DaemonUnreachable(`\`executor status\` can't be run: ${error?.message ?? "no answer"}`, {
            code: "daemon_unreachable",
            hint,
          }),
        );
      }
    });
  });
}

async function readToken(dataDir: string): Promise<string> {
  const file = join(dataDir, "operator.token");
  try {
    return checkVisible((await readFile(file, "utf8")).trim(), file);
  } catch {
    throw new DaemonUnreachable(`the operator token ${file} can't be read`, {
      code: "daemon_unreachable",
      hint: "run as the user who started the daemon, or set EXECUTOR_TOKEN",
    });
  }
}

async function readJson(file: string): Promise<Record<string, unknown> | undefined> {
  return readObject(await readFile(file, "utf8").catch(() => ""));
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null ? (read as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function notRunning(dataDir: string, starting = false): DaemonUnreachable {
  const what = starting ? "is starting" : "is not running";
  return new DaemonUnreachable(`the daemon of the data directory ${dataDir} ${what}`, {
    code: "daemon_unreachable",
    hint: "start it with `executor up`, or pass `url` and `token`",
    details: { unsent: true, starting },
  });
}
