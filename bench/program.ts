import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The real program as its users run it, with a client of its own. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  call(tool: string, input: Record<string, unknown>): Promise<{ text: string; data: Record<string, string> }>;
  /** The most memory that it has held so far, in MB. */
  peakMegabytes(): number;
}

export interface Start {
  readonly data: string;
  readonly flags?: readonly string[];
  /** Words that run the program, such as `taskset -c 0`. */
  readonly under?: readonly string[];
  /** The checkout that it is run from, where that is not this one. */
  readonly checkout?: string;
}

const thisCheckout = join(import.meta.dirname, '..');

export async function startProgram({
  data,
  flags = [],
  under = [],
  checkout = thisCheckout,
}: Start): Promise<Program> {
  const words = [
    ...under,
    process.execPath,
    '--max-semi-space-size=4',
    join(checkout, 'bin', 'workcrate.js'),
    'serve',
    '--port',
    '0',
    '--data',
    data,
    '--log-level',
    'warn',
    '--guess-limit',
    '1000000',
    ...flags,
  ];
  const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await listeningUrl(child);
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)));
  return {
    pid: child.pid!,
    url,
    async call(name, input) {
      const result = await client.callTool({ name, arguments: input }, { timeout: 600_000 });
      const [first] = result.content as { text: string }[];
      if (result.isError) throw new Error(first!.text);
      return { text: first!.text, data: result.structuredContent as Record<string, string> };
    },
    peakMegabytes: () =>
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024,
    async [Symbol.asyncDispose]() {
      await client.close();
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function listeningUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error('the program ended before it listened');
}

/** Sends bytes in and gives the id of the file. */
export async function uploadTo(program: Program, filename: string, body: BodySource): Promise<string> {
  const { data } = await program.call('request_upload', { filename });
  const answer = await fetch(data['uploadUrl']!, { method: 'PUT', body, duplex: 'half' } as RequestInit);
  if (answer.status !== 201) throw new Error(await answer.text());
  return ((await answer.json()) as { file_id: string }).file_id;
}

type BodySource = NonNullable<RequestInit['body']>;

export async function shareFrom(program: Program, fileId: string): Promise<string> {
  return (await program.call('share_file', { file_id: fileId })).data['downloadUrl']!;
}

/** A folder that is gone when its scope ends. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
