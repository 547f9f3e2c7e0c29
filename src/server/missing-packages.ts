/**
 * Which packages a run of a user would not find. It asks the interpreter itself, in the sandbox and the folders of that
 * user, so that whatever runs see counts: packages of the machine or image, and those that the user has installed.
 */
import { newExecutionId } from '../core/runs/executions.ts';
import type { Language, Sandbox } from '../ports/sandbox/sandbox.ts';
import type { FindMissingPackages } from '../features/scripts/tools.ts';
import { collectText } from '../platform/streams.ts';
import type { Workspaces } from '../core/workspaces/workspaces.ts';

export interface PackageCheckOptions {
  /** What code runs in, or why there is nothing: then nobody can tell. */
  readonly sandbox: Sandbox | string;
  readonly places: Pick<Workspaces, 'of'>;
}

interface Probe {
  /** Reads names as JSON from stdin, and prints those that are missing. It imports none of them. */
  readonly code: string;
  /** Where a run would look for them first. */
  readonly workingDir: string;
}

/** A package goes by the name that `import` takes, or by that of its distribution. */
const pythonProbe = `import json, sys
from importlib.util import find_spec
from importlib.metadata import distribution
def is_there(name):
    top = name.split(".")[0]
    try:
        if top.isidentifier() and find_spec(top) is not None: return True
    except Exception: pass
    try: return distribution(name) is not None
    except Exception: return False
print("missing", json.dumps([name for name in json.load(sys.stdin) if not is_there(name)]))`;

const nodeProbe = `const { createRequire, isBuiltin } = require('node:module');
const { resolve } = createRequire(process.cwd() + '/script.js');
const isThere = (name) => {
  if (isBuiltin(name)) return true;
  try { return resolve(name) !== ''; } catch (error) {
    // It is there, and is for import alone.
    return error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
  }
};
const names = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
console.log('missing ' + JSON.stringify(names.filter((name) => !isThere(name))));`;

/** The folders that runs make for themselves are below /workspace, and Node looks in those above too. */
const probes: Readonly<Record<Language, Probe | null>> = {
  python: { code: pythonProbe, workingDir: '/tmp' },
  node: { code: nodeProbe, workingDir: '/workspace' },
  bash: null,
};

const probeMs = 20_000;
const answerLimit = { limit: 100_000, tooLong: 'truncate' } as const;

export function createPackageCheck({ sandbox, places }: PackageCheckOptions): FindMissingPackages {
  return async ({ user }, language, names, signal) => {
    const probe = probes[language];
    if (typeof sandbox === 'string' || probe === null || !sandbox.languages.includes(language)) return [];
    const run = await sandbox.start({
      ...probe,
      id: newExecutionId(),
      user,
      place: await places.of(user),
      language,
      stdin: JSON.stringify(names),
      timeoutMs: probeMs,
      signal,
    });
    const [answer] = await Promise.all([
      collectText(run.stdout, answerLimit),
      collectText(run.stderr, answerLimit),
      run.ended,
    ]);
    return readMissing(answer, names);
  };
}

/** What the interpreter said, as far as it is about the names that were asked for. */
function readMissing(answer: string, names: readonly string[]): string[] {
  const line = answer.split('\n').find((text) => text.startsWith('missing ['));
  // It died, or was cancelled: the run itself tells what is wrong.
  if (line === undefined) return [];
  const told = new Set(JSON.parse(line.slice('missing '.length)) as unknown[]);
  return names.filter((name) => told.has(name));
}
