import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { insideFolder } from '../inside-folder.ts';
import type { Language, Report } from '../sandbox.ts';
import { readSessionFrames } from '../sessions/frames.ts';

type Header = Report['header'];

/** What one cell or command brought, up to the frame that ends it. */
export interface Reported {
  /** The frame that ended it: `done`, `ended` or `answer`. */
  readonly last: Header;
  readonly results: readonly Header[];
  readonly all: readonly Header[];
  readonly reports: readonly Report[];
}

/** The program that runs inside of a sandbox, without one: quick, and everything of it can be seen. */
export class InsideSession implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'workcrate-inside-'));
  readonly secret = randomBytes(16);
  out = '';
  err = '';
  readonly reports: Report[] = [];
  readonly process: ChildProcess;
  #read = 0;
  #id = 0;
  #cell = 0;

  constructor(language: Language, header: Record<string, unknown> = {}) {
    this.process = spawn('/usr/bin/python3', [join(insideFolder, 'run.py')], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: this.folder, LANG: 'C.UTF-8' },
    });
    const [, stdout, stderr, control, frames] = this.process.stdio as [
      null,
      Readable,
      Readable,
      Writable,
      Readable,
    ];
    stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    stderr.setEncoding('utf8').on('data', (text: string) => (this.err += text));
    control.on('error', () => {});
    void this.#collect(frames);
    const session = { secret: this.secret.toString('hex'), language, folder: this.folder };
    this.write({
      session: { ...session, roots: [this.folder], node: [process.execPath], bash: 'bash', ...header },
    });
  }

  async #collect(frames: Readable): Promise<void> {
    for await (const report of readSessionFrames(frames, this.secret)) this.reports.push(report);
  }

  write(command: object): void {
    (this.process.stdio[3] as Writable).write(`${JSON.stringify(command)}\n`);
  }

  /** The frames since the last ones that were waited for, up to the first that fits. */
  async wait(fits: (header: Header) => boolean): Promise<Reported> {
    const start = this.#read;
    await until(
      () => this.reports.slice(start).some(({ header }) => fits(header)),
      () => this.explain(),
    );
    this.#read = this.reports.findIndex(({ header }, at) => at >= start && fits(header)) + 1;
    const reports = this.reports.slice(start, this.#read);
    const all = reports.map(({ header }) => header);
    return { last: all.at(-1)!, results: all.filter(({ type }) => type === 'result'), all, reports };
  }

  explain(): string {
    return `${JSON.stringify(this.reports.map(({ header }) => header)).slice(-2000)}\n${this.out.slice(-1000)}\n${this.err.slice(-3000)}`;
  }

  ready(branch = 'main'): Promise<Reported> {
    return this.wait((header) => header['type'] === 'ready' && header['branch'] === branch);
  }

  send(code: string, { stdin = '', branch = 'main' } = {}): Promise<Reported> {
    const number = ++this.#cell;
    this.write({ id: ++this.#id, cell: { branch, number, code, stdin } });
    return this.wait(({ type, cell }) => (type === 'done' && cell === number) || type === 'ended');
  }

  /** The text of the last expression. */
  async value(code: string, options: { branch?: string; stdin?: string } = {}): Promise<unknown> {
    const { results, last } = await this.send(code, options);
    assert.equal(last['status'], 'ok', this.explain());
    return results.findLast(({ kind }) => kind === 'value')?.['text'] ?? null;
  }

  command(name: string, options: object = {}): Promise<Reported> {
    const id = ++this.#id;
    this.write({ id, [name]: { branch: 'main', ...options } });
    return this.wait(({ type, to }) => type === 'answer' && to === id);
  }

  /** Sends code that goes on, interrupts it once it has said so, and gives how it ended. */
  async interrupt(code: string, says: RegExp): Promise<Reported> {
    const ended = this.send(code);
    await this.prints(says);
    this.write({ id: ++this.#id, interrupt: { branch: 'main' } });
    return ended;
  }

  async prints(pattern: RegExp): Promise<void> {
    await until(
      () => pattern.test(this.out) || pattern.test(this.err),
      () => `${pattern} was not printed: ${this.explain()}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (this.process.stdio[3] as Writable).end();
    if (this.process.exitCode === null && this.process.signalCode === null)
      await new Promise((resolve) => this.process.once('exit', resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A session whose first branch waits for cells. */
export async function startInside(language: Language, header: object = {}): Promise<InsideSession> {
  const session = new InsideSession(language, { ...header });
  await session.ready();
  return session;
}

async function until(isTrue: () => boolean, explain: () => string): Promise<void> {
  for (const end = Date.now() + 20_000; !isTrue(); await sleep(5)) assert.ok(Date.now() < end, explain());
}
