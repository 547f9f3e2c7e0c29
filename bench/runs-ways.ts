import { spawn, type SpawnOptions } from 'node:child_process';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Condition } from './runs-busy.ts';

/** What is run: through the server, and bare, by the interpreter that the sandbox uses too. */
export interface Case {
  readonly language: 'python' | 'node' | 'bash';
  readonly code: string;
  readonly bare: readonly [program: string, ...words: string[]];
  /** Long enough for the pool to be full again. */
  readonly pauseMs: number;
  readonly rounds: number;
  /** Times at most and runs per second at least, as multiples of a bare spawn; null where nothing is asked. */
  readonly asked: {
    readonly p50: Readonly<Record<Condition, number>>;
    readonly p99: number | null;
    readonly burst: number;
  };
}

export const python: Case = {
  language: 'python',
  code: 'print("hi")',
  bare: ['/usr/bin/python3', '-c', 'print("hi")'],
  pauseMs: 20,
  rounds: 20,
  asked: { p50: { quiet: 0.4, 'one core busy': 0.5 }, p99: 0.8, burst: 1.2 },
};

export const cases: readonly Case[] = [
  python,
  {
    language: 'node',
    code: 'console.log("hi")',
    bare: [process.execPath, '-e', 'console.log("hi")'],
    pauseMs: 80,
    rounds: 10,
    asked: { p50: { quiet: 0.5, 'one core busy': 0.5 }, p99: null, burst: 1.2 },
  },
  {
    language: 'bash',
    code: 'echo hi',
    bare: ['/bin/bash', '-c', 'echo hi'],
    pauseMs: 20,
    rounds: 20,
    asked: { p50: { quiet: 1, 'one core busy': 1 }, p99: null, burst: 0.7 },
  },
];

const mostMs = 60_000;

/** A program without walls, from its start to the end of its output. */
export function bareRun([program, ...words]: Case['bare'], options: SpawnOptions = {}): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(program, words, { timeout: mostMs, ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const written = { stdout: '', stderr: '' };
  child.stdout!.on('data', (chunk: Buffer) => (written.stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()));
  child.on('error', reject);
  child.on('close', (code) => {
    if (code === 0) resolve(written.stdout);
    else reject(new Error(`${program} ended with ${code}: ${written.stderr.trim()}`));
  });
  return promise;
}

/** A real MCP client over Streamable HTTP. */
export interface Caller extends AsyncDisposable {
  call(tool: string, input: Record<string, unknown>, progress?: () => void): Promise<Result>;
  run(one: Case): Promise<string>;
}

type Result = Readonly<Record<string, unknown>>;

export async function connect(url: string): Promise<Caller> {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)));
  const call: Caller['call'] = async (name, input, progress) => {
    const options = { timeout: 5 * mostMs, ...(progress && { onprogress: progress }) };
    const result = await client.callTool({ name, arguments: input }, options);
    if (result.isError) throw new Error(JSON.stringify(result.content));
    return result.structuredContent as Result;
  };
  return {
    call,
    run: async ({ language, code }) => String((await call('execute_code', { language, code }))['stdout']),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
