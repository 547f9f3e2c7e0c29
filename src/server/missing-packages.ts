/**
 * Which packages a run of a user would not find. It asks the interpreter itself, in the sandbox and the folders of that
 * user, so that whatever runs see counts: packages of the machine or image, and those that the user has installed.
 */
import type { RunProgram } from '../core/runs/run-program.ts';
import { isWorkcrateError } from '../platform/errors.ts';
import type { Language } from '../ports/sandbox/sandbox.ts';
import type { FindMissingPackages } from '../features/scripts/tools.ts';

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

const maxOutput = 100_000;

export function createPackageCheck(runProgram: RunProgram): FindMissingPackages {
  return async (caller, language, names, signal) => {
    const probe = probes[language];
    if (probe === null) return [];
    const program = { ...probe, language, stdin: JSON.stringify(names), maxOutput };
    try {
      const { stdout } = await runProgram(caller, program, signal);
      return readMissing(stdout, names);
    } catch (error) {
      // Nothing runs here, so nobody can tell.
      if (isWorkcrateError(error, 'sandbox_unavailable')) return [];
      throw error;
    }
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
