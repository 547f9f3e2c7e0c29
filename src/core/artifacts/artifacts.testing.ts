import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../ports/database/open.ts';
import type { Caller } from '../identity.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createWorkspaces, type WorkspacesOptions } from '../workspaces/workspaces.ts';
import { readAsBase64, createArtifacts } from './artifacts.ts';

export const ann = { user: 'ann' };

interface StageOptions {
  readonly sizeLimit?: number;
  readonly uids?: WorkspacesOptions['uids'];
}

/** A user with a place of her own, and a secret outside of it. */
export async function stage({ sizeLimit = 50 * 1024 ** 2, uids = null }: StageOptions = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-artifacts-')));
  const secret = join(home, 'secret');
  writeFileSync(secret, 'secret');
  const database = await openDatabase(':memory:');
  const places = createWorkspaces({ database, folder: join(home, 'places'), uids, clock: Date.now });
  const { artifacts: folder } = await places.of(ann.user);
  const lines: string[] = [];
  const log = createLog('debug', (line) => void lines.push(line));
  const artifacts = createArtifacts({ places, sizeLimit, log });
  const encode = (caller: Caller, name: string): Promise<string> =>
    artifacts.use(caller, { name, delivery: 'base64' }, readAsBase64);
  return {
    home,
    secret,
    folder,
    database,
    places,
    log,
    artifacts: { ...artifacts, encode },
    namesOf: async (caller: Caller): Promise<string[]> => (await artifacts.list(caller)).names,
    logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    put: (name: string, bytes: string | Uint8Array) => writeFileSync(join(folder, name), bytes),
    async [Symbol.asyncDispose]() {
      await database.close();
      rmSync(home, { recursive: true });
    },
  };
}

/** Puts what is no artifact into a folder, and gives the names. */
export async function strangers(folder: string) {
  const at = (name: string): string => join(folder, name);
  mkdirSync(at('folder'));
  writeFileSync(at('folder/nested'), 'nested');
  symlinkSync('/etc/passwd', at('link-out'));
  symlinkSync('folder/nested', at('link-in'));
  symlinkSync('nowhere', at('link-dead'));
  symlinkSync('link-loop', at('link-loop'));
  symlinkSync('folder', at('link-folder'));
  execFileSync('mkfifo', [at('fifo')]);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync('mknod', [at('device'), 'c', '1', '5']);
  const server = createServer().listen(at('socket'));
  await once(server, 'listening');
  const links = ['link-out', 'link-in', 'link-dead', 'link-loop', 'link-folder'];
  const names = ['folder', ...links, 'fifo', 'socket', ...(isRoot ? ['device'] : [])];
  return { names, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Names that the kernel allows (A9), none with the marks that A5 refuses. */
export const hostileNames = [
  ' ',
  'with space.txt',
  ' both ends ',
  '-rf',
  '--help',
  '~',
  '$HOME',
  '$(touch x)',
  '`id`',
  'a;b|c&d',
  'quote\'s "and" more',
  'line\nbreak',
  'a\r\n{"level":"error"}',
  'tab\there',
  '\u001b[2J\u0007',
  '\u007f\u0085\u2028',
  'right-to-left \u202egpj.exe',
  'café.txt',
  'cafe\u0301.txt',
  'ﬁle ① Ａ',
  '日本語.txt',
  'שלום.txt',
  '👩‍👩‍👧.png',
  '\ufeffbom',
  '\ufffd',
  '\uffff',
  '%2e%2e%2fsecret',
  '100%.txt',
  '%',
  '?query#fragment',
  'a:b*c<d>e',
  'CON',
  'trailing.',
  '__proto__',
  'constructor',
  'x'.repeat(255),
  `${'é'.repeat(127)}x`,
];

/** A second process that keeps exchanging what stands in `stock` for one another in `folder`. */
export async function swapping(folder: string, stock: string): Promise<AsyncDisposable> {
  const script = fileURLToPath(new URL('./swap-things.testing.ts', import.meta.url));
  const attacker = fork(script, [folder, stock], { execArgv: [] });
  const ended = once(attacker, 'exit');
  await once(attacker, 'message');
  return {
    async [Symbol.asyncDispose]() {
      if (attacker.connected) attacker.disconnect();
      const [code] = await ended;
      if (code !== 0) throw new Error(`the attacker ended with ${String(code)} before the end`);
    },
  };
}
