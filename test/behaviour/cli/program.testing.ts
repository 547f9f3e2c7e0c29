import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The program, as a checkout runs it. */
export const fromSource = [process.execPath, join(import.meta.dirname, '../../../src/main.ts')];

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** How to start the program, where that is not `node src/main.ts`. */
  readonly program?: readonly string[];
  readonly uid?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder of its own for a test, removed at the end. */
export async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/**
 * What every program is started with. No setting of the tester's own can come in. Python's libraries and interpreters
 * that wait take a second of every start: whoever tests them asks for them.
 */
export const environment = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
  WORKCRATE_PYTHON_PRELOAD: 'none',
  WORKCRATE_WARM_PYTHON: '1',
  WORKCRATE_WARM_NODE: '0',
  WORKCRATE_WARM_BASH: '1',
};

function launch(args: readonly string[], options: RunOptions): ChildProcessByStdio<null, Readable, Readable> {
  const [command, ...first] = options.program ?? fromSource;
  // Most of these tests run no code, and a sandbox takes a moment to be made ready.
  const env = { ...environment, WORKCRATE_SANDBOX: 'off', ...options.env };
  const { cwd = tmpdir(), uid } = options;
  const identity = uid === undefined ? {} : { uid, gid: uid };
  return spawn(command!, [...first, ...args], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], ...identity });
}

/** So that one that hangs fails its test; nothing else comes near it, on a busy machine either. */
const mostMs = 120_000;

/** Runs the program to its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = launch(args, options);
  const timer = setTimeout(() => child.kill('SIGKILL'), mostMs);
  const [stdout, stderr] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close'),
  ]);
  clearTimeout(timer);
  return { code: child.exitCode, stdout, stderr };
}

async function textOf(stream: Readable): Promise<string> {
  return Buffer.concat(await stream.toArray()).toString();
}

export interface Program extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** All that it has written so far. */
  readonly output: { stdout: string; stderr: string };
  call(tool: string, input: Record<string, unknown>): Promise<Reply>;
  /** Whether it was told to end. */
  readonly ending: boolean;
  /** Sends a signal, and gives the exit code once it has ended: null where a signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

interface Reply {
  readonly failed: boolean;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  readonly data: any;
  /** Of an error. */
  readonly code: string | null;
}

/** Starts `serve` and waits until it listens. */
export async function serve(args: readonly string[], options: RunOptions = {}): Promise<Program> {
  const child = launch(['serve', '--port', '0', ...args], options);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = once(child, 'close').then(() => child.exitCode);
  const greeted = Promise.withResolvers<void>();
  child.stdout.on('data', () => output.stdout.includes('\n') && greeted.resolve());
  const timer = setTimeout(() => child.kill('SIGKILL'), mostMs);
  await Promise.race([greeted.promise, ended]);
  clearTimeout(timer);
  const url = /listening on (\S+)/.exec(output.stdout)?.[1];
  if (url === undefined) throw new Error(`serve did not start: ${output.stderr || output.stdout}`);
  const client = lazyClient(url);
  let ending = false;
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    ending = true;
    child.kill(signal);
    const code = await ended;
    await client.close();
    return code;
  };
  return {
    url,
    pid: child.pid!,
    output,
    call: client.call,
    get ending() {
      return ending;
    },
    end,
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  };
}

/** An MCP client that connects at the first call. */
function lazyClient(url: string) {
  let connected: Promise<Client> | null = null;
  const connect = async (): Promise<Client> => {
    const client = new Client({ name: 'cli suite', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)));
    return client;
  };
  return {
    async call(name: string, input: Record<string, unknown>): Promise<Reply> {
      const client = await (connected ??= connect());
      const result = await client.callTool({ name, arguments: input });
      const [first] = result.content as { text?: string }[];
      const error = result._meta?.['workcrate/error'] as { code: string } | undefined;
      return {
        failed: result.isError === true,
        text: first?.text ?? '',
        data: result.structuredContent,
        code: error?.code ?? null,
      };
    },
    close: async (): Promise<void> => (await connected?.catch(() => null))?.close(),
  };
}

/** Sends bytes in, and gives the receipt. */
export async function upload(program: Program, filename: string, bytes: Uint8Array<ArrayBuffer> | string) {
  const { data } = await program.call('request_upload', { filename });
  const answer = await fetch(data.uploadUrl as string, { method: 'PUT', body: bytes });
  if (answer.status !== 201) throw new Error(`upload answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as { file_id: string; sha256: string; size: number };
}
