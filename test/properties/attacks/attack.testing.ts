import type { Claim, Language, RunEnd, Sandbox } from '../../../src/ports/sandbox/sandbox.ts';
import { syscalls } from '../../../src/ports/sandbox/seccomp/syscalls.ts';
import type { Scene, User } from './scene.testing.ts';

/** What stops an attack: a claim of the sandbox, or what the server does with what a run leaves and says. */
export type Wall = Claim | 'artifacts' | 'records' | 'doors';

/** One run. The code is that of a hostile user, who knows all paths and numbers of the machine. */
export interface Step {
  readonly language: Language;
  readonly code: Code;
  /** Mallory where it is not said. */
  readonly user?: User;
  readonly stdin?: string;
  readonly timeoutMs?: number;
  /** May call tools, by which a container can reach a socket of the server. */
  readonly mayCallTools?: true;
  /** Cancels the run after so long. */
  readonly cancelMs?: number;
  /** Plays it as a cell of a session, and these as the next cells, as long as the session lives. */
  readonly nextCells?: readonly Code[];
}

export type Code = string | ((scene: Scene) => string);

/** An attack that is one run, perhaps with others before, beside and after it. */
export interface Attack extends Step {
  readonly name: string;
  readonly wall: Wall;
  readonly mustNotHappen: string;
  /** Plays it so often, perhaps cancelled at a random moment. The judge sees each. */
  readonly repeat?: { readonly times: number; readonly atOnce: number; readonly cancelWithinMs?: number };
  readonly before?: Step;
  /** Started before the attack, and waited for after it. */
  readonly beside?: Step;
  readonly after?: Step;
  /**
   * What becomes of it on a backend without walls, which shows that the judge can see it: it gets through; or
   * an ordinary uid alone stops it; or either, by the machine; or the reason why it is not run there.
   */
  readonly withoutWalls: 'through' | 'held' | 'either' | { readonly notRun: string };
  /** Backends that do not hold this one thing, though they claim the wall, and why. */
  readonly openOn?: Readonly<Partial<Record<Sandbox['kind'], string>>>;
  /** Why it cannot be tried on this machine, or null. */
  readonly lacks?: (scene: Scene) => string | null;
  /** Watches from outside while it runs. Given to the judge when it is over. */
  readonly watch?: (scene: Scene) => Watch;
  /** What got through, or null. By default what the code itself tells, see `told`. */
  readonly judge?: (seen: Seen) => string | null | Promise<string | null>;
}

export interface Watch {
  stop(): string | null | Promise<string | null>;
}

/** What came of one run. */
export interface Played {
  /** The beginning. */
  readonly stdout: string;
  readonly stderr: string;
  /** Of both outputs, all of it. */
  readonly bytes: number;
  readonly end: RunEnd;
}

export interface Seen {
  readonly run: Played;
  readonly before: Played | null;
  readonly beside: Played | null;
  readonly after: Played | null;
  /** What the run was given. */
  readonly timeoutMs: number;
  readonly scene: Scene;
  readonly sandbox: Sandbox;
}

/** The code failed before it could try: neither held nor got through. */
export class NotTried extends Error {}

/** Between SIGTERM and SIGKILL. */
export const graceMs = 400;

export const harmful = { notRun: 'it would harm the machine' };

/** The code says what it got by lines that begin with THROUGH, and TRIED when it came to its end. */
export function told(seen: Seen): string | null {
  const words = said(seen);
  if (words === null && !hasTried(seen.run)) throw new NotTried(lastWords(seen.run));
  if (words === null && seen.after !== null && !hasTried(seen.after))
    throw new NotTried(lastWords(seen.after));
  return words;
}

/** As `told`, for code that is not expected to come to its end. */
export function said({ run, before, beside, after }: Seen): string | null {
  const lines = [run, before, beside, after].flatMap((played) => played?.stdout.split('\n') ?? []);
  const words = lines.filter((line) => line.startsWith('THROUGH ')).map((line) => line.slice(8));
  return words.length === 0 ? null : [...new Set(words)].slice(0, 5).join('; ').slice(0, 300);
}

export function hasTried({ stdout }: Played): boolean {
  return stdout.split('\n').includes('TRIED');
}

function lastWords({ end, stdout, stderr }: Played): string {
  return `${JSON.stringify(end)} ${stdout.slice(-300)} ${stderr.slice(-600)}`;
}

const column = process.arch === 'x64' ? 0 : 1;
const numbers = Object.fromEntries(Object.entries(syscalls).map(([name, of]) => [name, of[column]]));

/** Puts a language's words for trying before the code, and TRIED after it. */
export function composed({ language, code, timeoutMs = usualTimeoutMs }: Step, scene: Scene): string {
  const text = typeof code === 'string' ? code : code(scene);
  const linger = language === 'python' ? `def linger(): time.sleep(${timeoutMs / 2000})\n` : '';
  return `${preludes[language](scene, text)}\n${linger}${text}\n${endings[language]}\n`;
}

/** What an attack has that says nothing else. */
export const usualTimeoutMs = 10_000;

/** Two take as long to load as all the others, and few attacks need them. */
function pythonModules(text: string): string {
  const heavy = ['socket', 'subprocess'].filter((name) => text.includes(name));
  return ['ctypes, errno, os, signal, stat, struct, sys, time', ...heavy].join(', ');
}

const preludes: Readonly<Record<Language, (scene: Scene, text: string) => string>> = {
  python: ({ nonce }, text) => `import ${pythonModules(text)}
libc = ctypes.CDLL(None, use_errno=True)
SYS = ${JSON.stringify(numbers).replaceAll('null', 'None')}
MARK = '${nonce}'
def through(what): print('THROUGH', what, flush=True)
def syscall(name, *values):
    ctypes.set_errno(0)
    number = SYS[name] if isinstance(name, str) else name
    if number is None: return -1, errno.ENOSYS
    given = [ctypes.c_long(v) if isinstance(v, int) else v for v in values]
    return libc.syscall(number, *given), ctypes.get_errno()
def works(name, *values):
    if syscall(name, *values)[0] >= 0: through(str(name) + ' works')
def attempt(what, act):
    try: result = act()
    except (OSError, ValueError): return
    if result is not False: through(what)
def mark(): libc.prctl(15, MARK.encode())`,
  bash: ({ nonce }) => `through() { echo "THROUGH $*"; }; MARK=${nonce}`,
  node: ({ nonce }) =>
    `const through = (what) => console.log('THROUGH ' + what); const MARK = '${nonce}'; const fs = require('node:fs');`,
};

const endings: Readonly<Record<Language, string>> = {
  python: "print('TRIED', flush=True)",
  bash: 'echo; echo TRIED',
  node: "console.log('TRIED')",
};
