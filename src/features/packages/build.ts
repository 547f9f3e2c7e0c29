/**
 * One install: runs pip or npm in a sandbox of its own, whose only way out is the registry, and looks at what came of it.
 * It decides nothing about names (`names.ts`, `allowed.ts`) and lets no run see the result (`store.ts`).
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Caller } from '../../core/identity.ts';
import type { HostAndPort } from '../../platform/net/host-names.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import type { RunNetwork, Sandbox, SandboxRun } from '../../ports/sandbox/sandbox.ts';
import { escapeControls } from '../../platform/text/text.ts';
import { inspectEnvironment, type InspectedEnvironment } from './check.ts';
import { parseReport, toInstallError } from './failures.ts';
import type { PackageSpec } from './names.ts';
import { listPlainHosts, splitNpmCredentials, type PackageRegistry } from './registries.ts';
import { getEnvironmentFolder, type InstalledPackage, type PackagePlace } from './store.ts';

/** Gives a run a way out to these hosts and no others; closed when it is over. */
export type OpenInstallNetwork = (
  caller: Caller,
  run: string,
  registry: readonly HostAndPort[],
) => RunNetwork & { close(): unknown };

export interface BuildRequest {
  readonly caller: Caller;
  readonly place: PackagePlace;
  readonly language: PackageLanguage;
  /** The id of a new environment. */
  readonly environment: string;
  readonly specs: readonly PackageSpec[];
  /** What is installed already, and should keep its version; npm sees that itself. */
  readonly keep: readonly InstalledPackage[];
  /** Versions that the operator has chosen, also for what other packages need. */
  readonly pins: readonly (readonly [name: string, version: string])[];
  readonly registry: PackageRegistry;
  /** Of Python, such as `3.11`. */
  readonly version: string;
  readonly signal: AbortSignal;
  /** Told a line of what is being done. */
  progress(line: string): void;
}

export interface BuildOptions {
  readonly sandbox: Sandbox;
  readonly openNetwork: OpenInstallNetwork;
  /** The folder of npm on this machine; null where there is none. */
  readonly npm: string | null;
  readonly allowsSource: boolean;
  readonly timeoutMs: number;
}

/** Published beside what is built. */
const installerFolder = join(import.meta.dirname, 'inside');
const programs: Readonly<Record<PackageLanguage, string>> = { python: 'install.py', node: 'install.cjs' };
/** Of what pip and npm print, so much of the end is kept. */
const keptCharacters = 64 * 1024;

/** Throws where it fails, and then the environment has to be discarded. */
export async function buildEnvironment(
  options: BuildOptions,
  request: BuildRequest,
): Promise<InspectedEnvironment> {
  const { sandbox, openNetwork, npm, timeoutMs } = options;
  const { caller, place, language, environment, registry, signal } = request;
  const id = `exec_${randomBytes(6).toString('hex')}`;
  const network = openNetwork(caller, id, registry.hosts);
  try {
    const run = await sandbox.start({
      id,
      user: caller.user,
      place,
      language,
      code: readFileSync(join(installerFolder, programs[language]), 'utf8'),
      workingDir: '/tmp',
      stdin: JSON.stringify(language === 'python' ? toPipTask(options, request) : toNpmTask(request)),
      timeoutMs,
      signal,
      network,
      install: { language, environment, npm: language === 'node' ? npm : null },
    });
    const [output, errors, end] = await Promise.all([
      keepOutputEnd(run.stdout, request.progress),
      keepOutputEnd(run.stderr, request.progress),
      run.ended,
      drainReports(run),
    ]);
    const { report, said } = parseReport(output);
    if (end.reason !== 'exit' || end.exitCode !== 0 || report?.done !== true) {
      const { diskBytes, fileBytes } = sandbox.limits;
      const failed = { language, end, report, output: `${said}\n${errors}` };
      throw toInstallError({ ...failed, registry: registry.title, timeoutMs, diskBytes, fileBytes });
    }
  } finally {
    network.close();
  }
  return inspectEnvironment(getEnvironmentFolder(place, language, environment), language, request.version);
}

function toPipTask({ allowsSource }: BuildOptions, request: BuildRequest) {
  const { environment, specs, keep, pins, registry } = request;
  return {
    environment,
    specs: specs.map(({ text }) => text),
    pins: pins.map(([name, version]) => `${name}${version}`),
    known: keep.map(({ name, version }) => `${name}==${version}`),
    indexes: registry.urls,
    plainHosts: listPlainHosts(registry),
    allowsSource,
  };
}

function toNpmTask({ environment, specs, pins, registry }: BuildRequest) {
  return {
    environment,
    dependencies: Object.fromEntries(
      specs.map(({ name, range, url }) => [name, url?.href ?? (range || '*')]),
    ),
    overrides: Object.fromEntries(pins),
    ...splitNpmCredentials(registry.urls[0]!),
  };
}

const maxProgressLine = 200;

/** Reads to the end, tells each line, and keeps the last of it. */
async function keepOutputEnd(
  output: AsyncIterable<Uint8Array>,
  tell: (line: string) => void,
): Promise<string> {
  const decoder = new TextDecoder();
  let kept = '';
  let rest = '';
  for await (const chunk of output) {
    const text = decoder.decode(chunk, { stream: true });
    kept = (kept + text).slice(-keptCharacters);
    const lines = (rest + text).slice(-keptCharacters).split('\n');
    rest = lines.pop()!;
    for (const line of lines)
      if (line.trim() !== '') tell(escapeControls(line.trim().slice(0, maxProgressLine)));
  }
  return kept;
}

/** There are none that matter, but they have to be read. */
async function drainReports({ reports }: SandboxRun): Promise<void> {
  for await (const _report of reports);
}
