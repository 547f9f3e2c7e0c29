/**
 * Which libraries Python has loaded before a run starts, and which runs are given an interpreter that has them. It loads
 * nothing: `inside/workcrate_inside/preload.py` does, in the sandbox of the user.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Preload } from '../sandbox.ts';
import { outerEnvironment } from './launch.ts';

/** What may be loaded in advance, and by which code it is wanted. */
export interface PreloadPlan {
  /** Installed, and only in folders that no user can write to. */
  readonly names: readonly string[];
  /** Why others are not loaded. Those that are not installed are not named. */
  readonly failed: Readonly<Record<string, string>>;
  /** Whether code imports anything that does not come with Python itself. */
  isWantedBy(code: string): boolean;
}

/** For each name the file that it is loaded from and all folders above, with owner and mode; null if there is none. */
const lookScript = `import sys, os, json
from importlib.util import find_spec
def look(name):
    try:
        spec = find_spec(name.split(".")[0])
    except Exception:
        return None
    path = spec and (spec.origin or (list(spec.submodule_search_locations or []) or [None])[0])
    if not path or not os.path.exists(path): return None
    paths = [os.path.realpath(path)]
    while paths[-1] != "/": paths.append(os.path.dirname(paths[-1]))
    return [[path, os.stat(path).st_uid, os.stat(path).st_mode] for path in paths]
print(json.dumps({"found": {name: look(name) for name in sys.argv[1:]}, "standard": sorted(sys.stdlib_module_names), "owner": os.lstat(sys.executable).st_uid}))`;

type FolderOwner = readonly [path: string, uid: number, mode: number];

interface Looked {
  readonly found: Readonly<Record<string, readonly FolderOwner[] | null>>;
  readonly standard: readonly string[];
  /** Of the interpreter. */
  readonly owner: number;
}

const preloadAnswerMs = 20_000;
const wantsNothing = (failed: Readonly<Record<string, string>>): PreloadPlan => ({
  names: [],
  failed,
  isWantedBy: () => false,
});

/** Asks the interpreter of runs, outside of any sandbox, without importing anything. */
export async function planPreload(python: string, names: readonly string[]): Promise<PreloadPlan> {
  if (names.length === 0) return wantsNothing({});
  let looked: Looked;
  try {
    const { stdout } = await promisify(execFile)(python, ['-s', '-c', lookScript, ...names], {
      timeout: preloadAnswerMs,
      env: outerEnvironment,
      cwd: '/',
    });
    looked = JSON.parse(stdout) as Looked;
  } catch (error) {
    const why = (error as Error).message.slice(0, 200);
    return wantsNothing(Object.fromEntries(names.map((name) => [name, why])));
  }
  // Whoever owns the interpreter could change every run anyway.
  const trusted = new Set([0, process.getuid?.(), looked.owner]);
  const isUnsafe = ([, uid, mode]: FolderOwner): boolean => !trusted.has(uid) || isModeOpenToAll(mode);
  const installed = names.filter((name) => looked.found[name] !== null);
  const failed = Object.fromEntries(
    installed.flatMap((name) => {
      const unsafe = looked.found[name]!.find(isUnsafe);
      return unsafe === undefined ? [] : [[name, `others can write to ${unsafe[0]}`]];
    }),
  );
  const standard = new Set(looked.standard);
  return {
    names: installed.filter((name) => failed[name] === undefined),
    failed,
    isWantedBy: (code) => findImports(code).some((name) => !standard.has(name)),
  };
}

/** In a sticky folder, such as /tmp, nobody can replace what belongs to others. */
const isModeOpenToAll = (mode: number): boolean => (mode & 0o002) !== 0 && (mode & 0o1000) === 0;

const importStatement =
  /^[^\S\n]*(?:from[^\S\n]+([\w.]+)[^\S\n]+import\b|import[^\S\n]+([^\n#;]+))|[;:][^\S\n]*(?:from[^\S\n]+([\w.]+)[^\S\n]+import\b|import[^\S\n]+([^\n#;]+))/gm;
const dynamicImport = /\b(?:__import__|import_module)\b/;

/**
 * The modules that code imports, by their first names, as far as its text shows. One that is missed costs the run the
 * time of its import, and nothing else.
 */
export function findImports(code: string): string[] {
  const names = [...code.matchAll(importStatement)].flatMap(([, from, plain, laterFrom, laterPlain]) =>
    (from ?? laterFrom ?? plain ?? laterPlain)!.split(','),
  );
  const first = names.map((name) => /^\s*(\w+)/.exec(name)?.[1]).filter((name) => name !== undefined);
  return dynamicImport.test(code) ? [...first, '__import__'] : first;
}

/** What the fork server says of the process that has libraries loaded. */
export interface PreloadedEvent {
  /** As the fork server knows it. */
  readonly pid: number;
  readonly loaded: readonly string[];
  readonly failed: Readonly<Record<string, string>>;
  /** All top-level modules that came with them. */
  readonly modules: readonly string[];
  readonly ms: number;
}

export const toPreload = ({ loaded, failed, ms }: PreloadedEvent, plan: PreloadPlan): Preload => ({
  loaded,
  failed: { ...plan.failed, ...failed },
  ms,
});
