/**
 * The transport to a server that is a process of ours: a process group of its own, bounded lines on its stdout, and an
 * end that leaves nothing behind. It knows no MCP beyond single messages.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import {
  deserializeMessage,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { killFamily, type ProcessFamily } from '../../ports/sandbox/subprocess/descendants.ts';
import type { ProcessPlace } from './entry.ts';
import { createFloodWatch, maxServerMessageBytes, tooLongMessage } from './flood.ts';
import { guardianVariable } from './watchdog.ts';

export interface ServerProcessOptions {
  readonly place: ProcessPlace;
  /** What a program needs of our environment to be found and to run. */
  readonly inherited: Readonly<Record<string, string>>;
  /** No other process has it, but for its children. */
  readonly mark: string;
  /** How long it may take to end by itself, and then after SIGTERM. */
  readonly graceMs: number;
  /** Called with what it writes to its stderr. */
  readonly heard: (text: string) => void;
  /** Called with a line of its stdout that is not a message. */
  readonly misread: (error: unknown) => void;
}

const maxDrainMs = 500;

/** What it still may have to write to a process that does not read. */
const maxUnread = 64 * 1024 * 1024;

export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK takes a transport with these two for stdio: one that does not know a version is then asked in another. */
  readonly stderr = null;
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }
  /** How it ended, as the end of a sentence; null while it runs. */
  ending: string | null = null;

  readonly #options: ServerProcessOptions;
  #child: ChildProcessWithoutNullStreams | null = null;
  #exited: Promise<void> = Promise.resolve();
  #flood = createFloodWatch();
  #line: Buffer[] = [];
  #lineBytes = 0;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { place, inherited, mark } = this.#options;
    const child = spawn(place.command, [...place.args], {
      cwd: place.cwd,
      env: { ...inherited, ...place.env, [guardianVariable]: mark },
      // A session and group of its own, so that all of it can be ended.
      detached: true,
      stdio: 'pipe',
    });
    this.#child = child;
    const { promise: exited, resolve: exit } = Promise.withResolvers<void>();
    this.#exited = exited;
    child.once('exit', (code, signal) => {
      this.ending ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      // At once: no other process can have got its number yet.
      killFamily(this.#family());
      exit();
      // What it has written last is still read; a child that has left its group may hold the pipes for ever.
      setTimeout(
        () => [child.stdout, child.stderr].forEach((stream) => stream.destroy()),
        maxDrainMs,
      ).unref();
    });
    child.once('close', () => this.onclose?.());
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.#options.heard(chunk.toString()));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once('spawn', resolve);
    child.once('error', (error) => {
      exit();
      this.ending ??= `could not be started (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;
      reject(error);
    });
    return promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || this.ending !== null) throw new Error('The process has ended.');
    if (stdin.writableLength > maxUnread)
      return this.#giveUp('was ended, since it does not read what it is sent');
    stdin.write(serializeMessage(message));
  }

  /** Lets it end by itself, then tells it to, then kills it. Resolves once it has ended. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const { graceMs } = this.#options;
    this.ending ??= 'was told to end';
    child.stdin.end();
    if (!(await this.#endsWithin(graceMs))) {
      signalGroup(child.pid, 'SIGTERM');
      if (!(await this.#endsWithin(graceMs))) killFamily(this.#family());
    }
    await this.#exited;
  }

  /** Kills it at once. */
  kill(): void {
    if (this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null)
      killFamily(this.#family());
  }

  #family(): ProcessFamily {
    const uid = process.getuid?.() ?? 0;
    return { leader: this.#child!.pid!, uid, mark: `${guardianVariable}=${this.#options.mark}` };
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const late = new AbortController();
    const ended = await Promise.race([
      this.#exited.then(() => true),
      pause(ms, false, { signal: late.signal }).catch(() => false),
    ]);
    late.abort();
    return ended;
  }

  #giveUp(why: string): void {
    if (this.ending !== null) return;
    this.ending = why;
    this.kill();
  }

  #read(chunk: Buffer): void {
    if (this.ending !== null) return;
    const flood = this.#flood.countBytes(chunk.length);
    if (flood !== null) return this.#giveUp(flood);
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const line = this.#line.length === 1 ? this.#line[0]! : Buffer.concat(this.#line);
      [this.#line, this.#lineBytes] = [[], 0];
      this.#readLine(line.toString().trim());
      if (this.ending !== null) return;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#line.push(part);
    this.#lineBytes += part.length;
    if (this.#lineBytes > maxServerMessageBytes) this.#giveUp(tooLongMessage);
  }

  #readLine(line: string): void {
    if (line === '') return;
    const flood = this.#flood.countMessage();
    if (flood !== null) return this.#giveUp(flood);
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      // Some servers print to their stdout.
      return this.#options.misread(error);
    }
    this.onmessage?.(message);
  }
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // It has ended meanwhile.
  }
}
