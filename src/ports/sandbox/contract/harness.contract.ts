import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { createLog } from '../../../platform/observability/log.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { collectBytes } from '../../../platform/streams.ts';
import type {
  Claim,
  Language,
  RunLimitSettings,
  Workspace,
  SandboxRun,
  RunEnd,
  RunRequest,
  Sandbox,
  SandboxOptions,
} from '../sandbox.ts';

/** What a backend's test supplies. The place of a user is made where it is missing. */
export type MakeSandbox = (options: Partial<SandboxOptions>) => Promise<MadeSandbox>;

export interface MadeSandbox extends AsyncDisposable {
  readonly sandbox: Sandbox;
  place(user: string): Promise<Workspace>;
}

const mega = 1024 * 1024;

export const contractLimits: RunLimitSettings = {
  memoryBytes: 256 * mega,
  processes: 64,
  cpus: 2,
  fileBytes: 16 * mega,
  diskBytes: 64 * mega,
  tmpBytes: 16 * mega,
  graceMs: 2000,
};

/** What a factory starts from. */
export const contractOptions: SandboxOptions = {
  limits: contractLimits,
  network: 'none',
  mostRuns: 20,
  mostRunsOfUser: 20,
  tools: null,
  skills: null,
  warm: { python: 1, node: 1, bash: 1 },
  pythonPreload: [],
  log: createLog('off'),
};

export interface Asked extends Partial<Omit<RunRequest, 'language' | 'code' | 'user'>> {
  readonly user?: string;
}

export interface Outcome extends RunEnd {
  /** As Latin-1 text would lose nothing, but UTF-8 is what is looked at. */
  readonly out: string;
  readonly err: string;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** The sandbox that most tests share, and ways to ask it. */
export interface Bench {
  readonly sandbox: Sandbox;
  readonly place: (user: string) => Promise<Workspace>;
  /** A folder of the server's that stands beside the users', and is `/tools`; see `skills` too. */
  readonly tools: string;
  readonly skills: string;
  start(language: Language, code: string, asked?: Asked): Promise<SandboxRun>;
  /** Starts, reads both outputs to their ends and waits. */
  run(language: Language, code: string, asked?: Asked): Promise<Outcome>;
  /** A new folder in the user's /workspace, as seen inside. */
  folder(user?: string): Promise<{ inside: string; host: string }>;
}

/** A bench for the tests of a `describe`, made before them and gone after them. */
export function useBench(make: MakeSandbox, options: Partial<SandboxOptions> = {}): Bench {
  let bench: Bench & AsyncDisposable;
  before(async () => void (bench = await openBench(make, options)));
  after(async () => bench[Symbol.asyncDispose]());
  return {
    get sandbox() {
      return bench.sandbox;
    },
    get tools() {
      return bench.tools;
    },
    get skills() {
      return bench.skills;
    },
    place: (user) => bench.place(user),
    start: (...asked) => bench.start(...asked),
    run: (...asked) => bench.run(...asked),
    folder: (user) => bench.folder(user),
  };
}

export async function openBench(
  make: MakeSandbox,
  options: Partial<SandboxOptions> = {},
): Promise<Bench & AsyncDisposable> {
  const shared = await mkdtemp(join(tmpdir(), 'workcrate-contract-'));
  const [tools, skills] = [join(shared, 'tools'), join(shared, 'skills')];
  for (const folder of [tools, skills]) {
    await mkdir(folder, { mode: 0o755 });
    await writeFile(join(folder, 'file.txt'), `from ${folder.slice(shared.length)}`);
  }
  const made = await make({ tools, skills, ...options });
  const bench = { sandbox: made.sandbox, place: (user: string) => made.place(user), tools, skills };
  const start = async (language: Language, code: string, asked: Asked = {}) =>
    made.sandbox.start(await requestOf(made, language, code, asked));
  return {
    ...bench,
    start,
    run: async (...asked) => outcomeOf(await start(...asked)),
    folder: async (user = 'anna') => newFolder(await made.place(user)),
    async [Symbol.asyncDispose]() {
      await made[Symbol.asyncDispose]();
      await rm(shared, { recursive: true, force: true });
    },
  };
}

async function requestOf(
  made: MadeSandbox,
  language: Language,
  code: string,
  { user = 'anna', ...asked }: Asked,
): Promise<RunRequest> {
  return {
    id: `exec_${randomBytes(6).toString('hex')}`,
    user,
    place: await made.place(user),
    language,
    code,
    workingDir: '/workspace',
    stdin: '',
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    ...asked,
  };
}

export async function outcomeOf({ stdout, stderr, ended }: SandboxRun): Promise<Outcome> {
  const [out, err, end] = await Promise.all([collectBytes(stdout), collectBytes(stderr), ended]);
  return { ...end, stdout: out, stderr: err, out: out.toString(), err: err.toString() };
}

async function newFolder(place: Workspace): Promise<{ inside: string; host: string }> {
  const name = `exec_${randomBytes(6).toString('hex')}`;
  const host = join(place.workspace, name);
  await mkdir(host, { mode: 0o700 });
  if (place.uid !== null) await chown(host, place.uid, place.uid);
  return { inside: `/workspace/${name}`, host };
}

/** A test of what the backend may hold. Where it does not, the test is skipped and says why. */
export function proves(
  bench: Bench,
  claim: Claim,
  name: string,
  body: (t: TestContext) => Promise<void>,
): void {
  it(`${claim}: ${name}`, async (t) => {
    const held = bench.sandbox.holds[claim];
    if (held === true) await body(t);
    else t.skip(`${bench.sandbox.kind} does not hold ${claim}: ${held}`);
  });
}

type Limit = 'memory' | 'process' | 'cpu' | 'file-size' | 'disk' | 'network';

/** A limit is proven for each backend by itself. Of subprocess, which has no walls, nothing has to be. */
export function recordLimitProof(limit: Limit, { sandbox: { kind } }: Bench): void {
  if (kind !== 'subprocess') recordProof(`D14:${limit}-limit-in-${kind}`);
}
