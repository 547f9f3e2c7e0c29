import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerConfig as Config } from '../server/settings.ts';
import { toInstallCommand, describePackages, findMissingPackages } from '../core/runs/tools.ts';
import { createLog } from '../platform/observability/log.ts';
import { openSandbox } from '../ports/sandbox/open.ts';
import { claims, languages, type Workspace, type Sandbox } from '../ports/sandbox/sandbox.ts';
import { toSandboxOptions } from '../server/execution.ts';
import { collectText } from '../platform/streams.ts';
import { giveFolderTo } from '../core/workspaces/workspaces.ts';
import { checkPackages } from './doctor-packages.ts';
import type { Finding } from '../core/command.ts';

/** Runs a program in the sandbox that is set, and reports which walls and limits are enforced on this machine. */
export async function checkSandbox(config: Config): Promise<Finding[]> {
  if (config.sandbox === 'off')
    return [{ state: 'note', what: 'code does not run: the sandbox is off (--sandbox off)' }];
  const kind = config.sandbox === 'auto' ? 'bubblewrap' : config.sandbox;
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-doctor-'));
  try {
    await using sandbox = await openSandbox({
      ...toSandboxOptions(config, createLog('off')),
      kind,
      warm: noWarmInterpreters,
    });
    const ran = await tryRuns(sandbox, makeScratchWorkspace(folder, config));
    return [
      ...ran.map((what): Finding => ({ state: 'ok', what })),
      ...(await checkPythonPackages(sandbox, config)),
      ...(await checkPreload(sandbox)),
      ...(await checkPackages(sandbox, config)),
      ...findMissingLanguages(sandbox),
      ...findUnenforcedClaims(sandbox),
      ...sandbox.warnings.map((what): Finding => ({ state: 'note', what })),
    ];
  } catch (error) {
    const state = config.sandbox === 'auto' ? 'note' : 'broken';
    return [{ state, what: `code cannot be run in ${kind}`, remedy: (error as Error).message }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const noWarmInterpreters = { python: 0, node: 0, bash: 0 };

function makeScratchWorkspace(folder: string, config: Config): Workspace {
  const uid = process.getuid?.() === 0 ? config.sandboxUids.to : null;
  const [workspace, artifacts] = [join(folder, 'workspace'), join(folder, 'artifacts')];
  const place = { uid, workspace, artifacts, packages: null };
  for (const path of [place.workspace, place.artifacts]) {
    mkdirSync(path);
    if (uid !== null) giveFolderTo(path, uid);
  }
  return place;
}

const versionPrograms = {
  python: 'import sys; print(sys.version.split()[0])',
  node: 'console.log(process.versions.node)',
  bash: 'echo $BASH_VERSION',
};

async function tryRuns(sandbox: Sandbox, place: Workspace): Promise<string[]> {
  const found = [];
  for (const language of sandbox.languages) {
    const run = await sandbox.start({
      id: 'exec_000000000000',
      user: 'doctor',
      place,
      language,
      code: versionPrograms[language],
      workingDir: '/workspace',
      stdin: '',
      timeoutMs: 20_000,
      signal: new AbortController().signal,
    });
    const [version, , { reason, exitCode }] = await Promise.all([
      collectText(run.stdout),
      collectText(run.stderr),
      run.ended,
    ]);
    found.push(`${sandbox.kind} runs ${language} ${exitCode === 0 ? version.trim() : `badly (${reason})`}`);
  }
  return found;
}

async function checkPythonPackages(
  { kind, pythonPackages }: Sandbox,
  { python: path }: Config,
): Promise<Finding[]> {
  const python = await pythonPackages();
  if (python === null) return [];
  const what = `runs have Python ${python.version} ${describePackages(python)}`;
  const missing = findMissingPackages(python);
  if (missing.length === 0) return [{ state: 'ok', what }];
  const inImage = `Install ${missing.join(', ')} in the image that code runs in`;
  const byPip = `${path ?? 'python3'} -m pip install ${missing.join(' ')}`;
  const remedy = kind === 'docker' ? inImage : (toInstallCommand(python, missing) ?? byPip);
  return [{ state: 'note', what, remedy }];
}

/** The runs before have started the interpreter that loads libraries. */
async function checkPreload(sandbox: Sandbox): Promise<Finding[]> {
  const { loaded, failed, ms } = (await sandbox.preload()) ?? { loaded: [], failed: {}, ms: 0 };
  const what = `Python has loaded before a run starts: ${loaded.join(', ')} (took ${ms} ms)`;
  return [
    ...(loaded.length === 0 ? [] : [{ state: 'ok', what } as const]),
    ...Object.entries(failed).map(([name, why]): Finding => {
      const remedy = `${why}. Mend it, or leave it out of --python-preload`;
      return { state: 'note', what: `${name} is not loaded before a run starts`, remedy };
    }),
  ];
}

function findMissingLanguages({ kind, languages: there }: Sandbox): Finding[] {
  return languages
    .filter((language) => !there.includes(language))
    .map((language) => ({
      state: 'note',
      what: `${kind} does not run ${language}: it cannot be started there`,
    }));
}

function findUnenforcedClaims({ kind, holds }: Sandbox): Finding[] {
  const missing = claims.filter((claim) => holds[claim] !== true);
  if (missing.length === 0) return [{ state: 'ok', what: `${kind} enforces every wall and limit` }];
  return missing.map((claim) => ({
    state: 'note',
    what: `${kind} does not enforce: ${claim.replace('_', ' ')}`,
    remedy: String(holds[claim]),
  }));
}
