import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { openDatabase } from '../../ports/database/open.ts';
import type { Caller } from '../../core/identity.ts';
import { createLog } from '../../platform/observability/log.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import type { Language, Sandbox, Workspace } from '../../ports/sandbox/sandbox.ts';
import { collectText } from '../../platform/streams.ts';
import type { PackageChange } from './install.ts';
import type { JobTerms } from './jobs.ts';
import { createPackages, findNpmFolder, type PackagesOptions } from './packages.ts';
import { createTestProxy } from './proxy.testing.ts';

export const ada: Caller = { user: 'ada' };
export const bob: Caller = { user: 'bob' };

/** The folder of npm here; null where there is none. */
const npmFolder = findNpmFolder(
  ['/usr/bin/npm', '/usr/local/bin/npm', '/opt/homebrew/bin/npm'].find((path) => existsSync(path)) ?? null,
);

/** Why a test that installs Python packages cannot be run here, or false. */
export function findMissingPip(): string | false {
  const { status } = spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']);
  return status !== 0 && "the system's Python has no pip (python3-pip)";
}

/** Why a test that installs Node packages cannot be run here, or false. */
export const findMissingNpm = (): string | false =>
  npmFolder === null && 'there is no npm in the usual places';

/** What is in place of a user's folders, and what runs code. */
export interface RoomParts extends AsyncDisposable {
  readonly sandbox: Sandbox;
  place(user: string): Promise<Workspace>;
}

export type PackageRoom = Awaited<ReturnType<typeof openPackageRoom>>;

/** The room on a real database and sandbox, with a real proxy. */
export async function openPackageRoom(parts: RoomParts, given: Partial<PackagesOptions> = {}) {
  await using opened = new AsyncDisposableStack();
  opened.use(parts);
  const { sandbox } = parts;
  const database = given.database ?? opened.adopt(await openDatabase(':memory:'), (it) => it.close());
  const proxy = createTestProxy();
  const options: PackagesOptions = {
    database,
    places: { of: (user) => parts.place(user), find: (user) => parts.place(user) },
    sandbox,
    openNetwork: proxy.open,
    pipIndexUrl: null,
    npmRegistry: null,
    hosts: [],
    python: null,
    npm: npmFolder,
    allow: [],
    allowsSource: false,
    allowsUrls: false,
    timeoutMs: 120_000,
    userBytes: 1024 ** 3,
    server: 'local',
    clock: Date.now,
    log: createLog('off'),
    ...given,
  };
  const packages = opened.use(createPackages(options));
  const all = opened.move();

  /** Runs code as the user, and gives what it prints. */
  async function run(language: Language, code: string, { user }: Caller = ada): Promise<string> {
    const started = await sandbox.start({
      id: `exec_${randomBytes(6).toString('hex')}`,
      user,
      place: await parts.place(user),
      language,
      code,
      workingDir: '/tmp',
      stdin: '',
      timeoutMs: 60_000,
      signal: new AbortController().signal,
    });
    const [out, err] = await Promise.all([
      collectText(started.stdout),
      collectText(started.stderr),
      started.ended,
    ]);
    return `${out}${err}`;
  }

  return {
    packages,
    options,
    proxy,
    sandbox,
    place: parts.place,
    run,
    install: async (
      language: PackageLanguage,
      names: string[],
      caller = ada,
      terms: Partial<JobTerms> = {},
    ) => (await packages.install(caller, { language, names }, { ...waiting(), ...terms })) as PackageChange,
    remove: async (language: PackageLanguage, names: string[], caller = ada) =>
      (await packages.remove(caller, { language, names }, waiting())) as PackageChange,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** A call that waits for as long as it takes. */
const waiting = (): JobTerms => ({
  cancel: new AbortController().signal,
  patienceMs: null,
  progress: () => {},
});

/** `pandas 2.1.0, …` */
export const nameAll = (packages: readonly { name: string; version: string }[]): string =>
  packages.map(({ name, version }) => `${name} ${version}`).join(', ');
