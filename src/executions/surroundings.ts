/**
 * What code finds where it runs (folders, network, Python packages), in words for tool descriptions and hints. It asks
 * the sandbox once, at the start, and changes nothing there.
 */
import {
  debianNames,
  type SandboxFolders,
  type Workspace,
  type PythonPackages,
  type Sandbox,
} from '../sandbox/sandbox.ts';
import { formatBytes, quoteName } from '../text.ts';

/** What code finds where it runs. */
export interface Surroundings {
  readonly kind: Sandbox['kind'];
  readonly hasNetwork: boolean;
  /** The hosts that runs may reach, in words, where there is a list of them. */
  readonly allowedHosts: string | null;
  /** Whether users may install packages. */
  readonly canInstall: boolean;
  /** The most memory of a run; null where that is not enforced. */
  readonly memoryBytes: number | null;
  /** Null where the interpreter did not tell. */
  readonly python: PythonPackages | null;
  /** Where the only user's folders are, where they are not mounted; null where they are, or where there are users. */
  readonly folders: SandboxFolders | null;
}

/** Asks the sandbox; null where no code is run. */
export async function readSurroundings(
  sandbox: Sandbox | string,
  onlyPlace: Workspace | null,
  { allowedHosts, canInstall }: Pick<Surroundings, 'allowedHosts' | 'canInstall'>,
): Promise<Surroundings | null> {
  if (typeof sandbox === 'string') return null;
  const { kind, holds } = sandbox;
  const folders = onlyPlace === null ? null : sandbox.folders(onlyPlace);
  return {
    kind,
    hasNetwork: holds.network !== true || allowedHosts !== null,
    allowedHosts,
    canInstall,
    memoryBytes: holds.memory === true ? sandbox.limits.memoryBytes : null,
    python: await sandbox.pythonPackages(),
    folders,
  };
}

/** For the descriptions of tools that run code where nothing can be mounted (A11). */
export function describeFolders(surroundings: Surroundings | null): string {
  if (surroundings?.kind !== 'subprocess') return '';
  const { folders } = surroundings;
  const real = folders === null ? 'results name the real folders' : describeRealFolders(folders);
  return ` Here these folders are not mounted: in a shell they are ~/workspace, ~/artifacts, ~/tools and ~/skills; ${real}.`;
}

/** `/workspace is /data/places/1/workspace, /artifacts is …, there is no /tools`. */
export function describeRealFolders(folders: SandboxFolders): string {
  return Object.entries(folders)
    .map(([name, path]) => (path === null ? `there is no /${name}` : `/${name} is ${quoteName(path)}`))
    .join(', ');
}

/** As many as a description has room for. */
const maxDescribedPackages = 6;

/** For the description of a tool: a model that knows this does not try to install anything. */
export function describeSurroundings(surroundings: Surroundings | null): string {
  if (surroundings === null) return '';
  return [describeNetwork(surroundings), describePython(surroundings)]
    .filter((sentence) => sentence !== '')
    .map((sentence) => ` ${sentence}`)
    .join('');
}

export function describeNetwork({ hasNetwork, allowedHosts, canInstall }: Surroundings): string {
  if (allowedHosts !== null) return `HTTP and HTTPS to ${allowedHosts} only, by the proxy of http_proxy.`;
  if (hasNetwork) return '';
  return canInstall
    ? 'No network: packages by install_packages, not by pip or npm.'
    : 'No network, so no pip or npm install.';
}

const describePython = ({ python }: Surroundings): string =>
  python === null ? '' : `Python ${python.version} ${describePackages(python)}.`;

/** For the description of a tool. */
export const describeMemory = (surroundings: Surroundings | null): string =>
  surroundings?.memoryBytes ? ` ${formatBytes(surroundings.memoryBytes)} of memory.` : '';

/** `with numpy 1.24.2 and without pandas, matplotlib`. */
export function describePackages({ packages }: PythonPackages): string {
  const all = Object.entries(packages).slice(0, maxDescribedPackages);
  const there = all.flatMap(([name, version]) => (version === null ? [] : `${name} ${version}`.trimEnd()));
  const missing = all.filter(([, version]) => version === null).map(([name]) => name);
  return [
    ...(there.length === 0 ? [] : [`with ${there.join(', ')}`]),
    ...(missing.length === 0 ? [] : [`without ${missing.join(', ')}`]),
  ].join(' and ');
}

/** People expect these of a tool for data, and their absence shows only in the first run. */
const expectedPackages = ['numpy', 'pandas', 'matplotlib'];

export const findMissingPackages = ({ packages }: PythonPackages): string[] =>
  expectedPackages.filter((name) => packages[name] === null);

/** For whoever starts the server: what Python has, what is loaded before a run starts, and how to get the rest. */
export function describePythonToOperator(
  { kind, python }: Surroundings,
  preload: readonly string[],
): string | null {
  if (python === null) return null;
  const missing = findMissingPackages(python);
  const command = kind === 'docker' ? null : toInstallCommand(python, missing);
  const loaded =
    kind === 'bubblewrap' ? preload.filter((name) => python.packages[name.split('.')[0]!] !== null) : [];
  return [
    `${python.version} ${describePackages(python)}`,
    ...(loaded.length === 0 ? [] : [`loaded before a run starts: ${loaded.join(', ')}`]),
    ...(command === null ? [] : [`to have ${missing.join(', ')} too: ${command}`]),
  ].join('; ');
}

/** What an operator runs to have these packages, by the names that `import` takes; null where nobody can say. */
export function toInstallCommand({ isDebian }: PythonPackages, names: readonly string[]): string | null {
  const known = names.map((name) => debianNames[name]).filter((name) => name !== undefined);
  return isDebian && known.length > 0 ? `apt-get install ${known.join(' ')}` : null;
}
