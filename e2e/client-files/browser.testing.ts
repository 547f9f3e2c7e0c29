import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { eventually } from '../../src/eventually.testing.ts';

const program = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
);

export const NO_BROWSER: string | false =
  program === undefined ? 'there is no chromium here: apt-get install chromium' : false;

/** A tab of a real browser. */
export interface Tab extends AsyncDisposable {
  open(url: string): Promise<void>;
  /** The value of an expression in the page. */
  see(expression: string): Promise<unknown>;
  /** What a person does in the dialogue of a file field. */
  choose(selector: string, files: string[]): Promise<void>;
  click(selector: string): Promise<void>;
  /** Waits until an expression is true in the page. */
  until(expression: string): Promise<void>;
  /** What the page complained about, such as a breach of its own policy. */
  readonly complaints: string[];
}

const flags = [
  '--headless',
  '--remote-debugging-pipe',
  '--no-first-run',
  '--disable-gpu',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Nothing but this machine is looked up.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  // Its sandbox does not start for root.
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
];

export async function openTab(): Promise<Tab> {
  await using started = new AsyncDisposableStack();
  const profile = await mkdtemp(join(tmpdir(), 'workcrate-browser-'));
  started.defer(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }));
  const child = spawn(program!, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  started.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  const [, , , commands, events] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const complaints: string[] = [];
  const tell = await attach(conversation(commands, events, complaints));
  const all = started.move();
  return { ...tabOf(tell), complaints, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

// oxlint-disable-next-line typescript/no-explicit-any -- the browser's answers are looked into where they are used
type Tell = (method: string, params?: Record<string, unknown>) => Promise<any>;

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: unknown;
}

/** Chromium's debugging protocol: JSON, each message ended by a NUL. */
function conversation(commands: Writable, events: Readable, complaints: string[]) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const hear = (answer: Answer): void => {
    const heard = waiting.get(answer.id ?? -1);
    if (answer.error) heard?.reject(new Error(answer.error.message));
    else heard?.resolve(answer.result);
    if (answer.method === 'Log.entryAdded') complaints.push(JSON.stringify(answer.params));
  };
  let rest = '';
  events.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\0');
    rest = parts.pop()!;
    for (const part of parts) hear(JSON.parse(part) as Answer);
  });
  events.on('close', () => waiting.forEach(({ reject }) => reject(new Error('the browser has gone'))));
  return (method: string, params: object, sessionId?: string) => {
    const id = waiting.size + 1;
    waiting.set(id, Promise.withResolvers());
    commands.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return waiting.get(id)!.promise;
  };
}

async function attach(send: ReturnType<typeof conversation>): Promise<Tell> {
  const { targetId } = (await send('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
  const attached = await send('Target.attachToTarget', { targetId, flatten: true });
  const { sessionId } = attached as { sessionId: string };
  const tell: Tell = (method, params = {}) => send(method, params, sessionId);
  for (const domain of ['Page', 'Log', 'DOM']) await tell(`${domain}.enable`);
  return tell;
}

function tabOf(tell: Tell): Omit<Tab, 'complaints' | typeof Symbol.asyncDispose> {
  const see: Tab['see'] = async (expression) =>
    (await tell('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })).result.value;
  const until: Tab['until'] = (expression) => eventually(async () => (await see(expression)) === true);
  return {
    see,
    until,
    async open(url) {
      await tell('Page.navigate', { url });
      await until(`location.href === ${JSON.stringify(url)} && document.readyState === 'complete'`);
    },
    async choose(selector, files) {
      const { root } = await tell('DOM.getDocument');
      const { nodeId } = await tell('DOM.querySelector', { nodeId: root.nodeId, selector });
      await tell('DOM.setFileInputFiles', { nodeId, files });
    },
    click: async (selector) =>
      void (await see(`document.querySelector(${JSON.stringify(selector)}).click()`)),
  };
}
