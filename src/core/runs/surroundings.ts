/**
 * What code finds where it runs (folders, network, Python packages), in words for tool descriptions, and what to do where
 * a package, a program or the network is missing. It asks the sandbox once, at the start, and changes nothing there.
 */
import {
  debianNames,
  type SandboxFolders,
  type Workspace,
  type PythonPackages,
  type Sandbox,
} from '../../ports/sandbox/sandbox.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import type { Execution } from './fields.ts';

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
  return Object.entries({ ...folders })
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

function describeNetwork({ hasNetwork, allowedHosts, canInstall }: Surroundings): string {
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

type FailedRun = Pick<Execution, 'language' | 'reason' | 'exitCode' | 'stderr'>;

/**
 * What to do about a program that failed for want of a package or a program: a line behind its output, or null. Only the
 * words of the interpreters themselves are looked for, where they put them; whoever prints the same gets the same line.
 */
export function describeMissingPackage(ended: FailedRun, surroundings: Surroundings | null): string | null {
  if (surroundings === null || ended.reason !== 'exit' || ended.exitCode === 0) return null;
  const missing = findMissingPackage(ended);
  return missing === null ? null : describeRemedy(missing, surroundings);
}

interface Missing {
  readonly what: 'python' | 'node' | 'command' | 'install' | 'network';
  readonly name: string;
}

/** Names are short and plain, since the hint repeats them. */
const pythonModule = /^ModuleNotFoundError: No module named '([A-Za-z_]\w{0,60})(?:\.[\w.]*)?'(?:; .*)?$/;
const nodePackage =
  /^Error(?: \[ERR_MODULE_NOT_FOUND\])?: Cannot find (?:module|package) '(@?[\w-][\w./-]{0,80})'/m;
const commandNotFound = /(?:^|: )(?:line \d+: )?([\w.+-]{1,60}): command not found$/;
const failedInstall =
  /^(?:error: externally-managed-environment|ERROR: No matching distribution found for .*)$/m;

/** As curl, wget, git, ssh, Python and Node say that they find no host. */
const noHost = new RegExp(
  [
    String.raw`^curl: \((?:6|7)\) (?:Could not resolve host|Failed to connect)`,
    '^wget: unable to resolve host address',
    String.raw`^fatal: unable to access '[^'\n]{1,300}': Could not resolve host`,
    '^ssh: Could not resolve hostname',
    String.raw`^[\w.]{1,80}: .{0,400}(?:Temporary failure in name resolution|Name or service not known|Network is unreachable|Failed to resolve )`,
    String.raw`getaddrinfo (?:EAI_AGAIN|ENOTFOUND) `,
  ].join('|'),
  'm',
);

function findMissingPackage({ language, stderr }: FailedRun): Missing | null {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  const found = (what: Missing['what'], match: RegExpExecArray | null): Missing | null =>
    match === null ? null : { what, name: match[1] ?? '' };
  return (
    found('python', pythonModule.exec(last)) ??
    found('command', commandNotFound.exec(last)) ??
    found('install', failedInstall.exec(stderr)) ??
    found('network', noHost.exec(stderr)) ??
    (language === 'node' ? found('node', nodePackage.exec(stderr)) : null)
  );
}

function describeRemedy({ what, name }: Missing, surroundings: Surroundings): string | null {
  switch (what) {
    case 'python':
      return describeMissingModule(name, surroundings);
    case 'node':
      return joinSentences(
        `Node has no module ${name} here, only its built-in modules, installed packages and those in a node_modules of the working directory.`,
        ...(surroundings.canInstall
          ? [toInstallCall('node', name)]
          : [describeNetwork(surroundings), describeOperatorRemedy(surroundings)]),
      );
    case 'command':
      return joinSentences(
        `There is no program ${name} here.`,
        describeNetwork(surroundings),
        describeOperatorRemedy(surroundings),
      );
    case 'network':
      return describeNoNetwork(surroundings);
    case 'install':
      return joinSentences(
        'A run cannot install anything.',
        describeSurroundings(surroundings).trim(),
        surroundings.canInstall ? '' : describeOperatorRemedy(surroundings),
      );
  }
}

/** Where runs have a network, the host is what is wrong. */
function describeNoNetwork(surroundings: Surroundings): string | null {
  const { allowedHosts, hasNetwork, canInstall } = surroundings;
  if (allowedHosts === null && hasNetwork) return null;
  return joinSentences(
    allowedHosts === null
      ? 'There is no network here, so code fetches nothing.'
      : `Code reaches nothing but this: ${describeNetwork(surroundings)}`,
    'A file gets in by request_upload or client_files.',
    canInstall ? 'Packages are installed by install_packages.' : '',
  );
}

/** A module may be a file of a package. */
const toInstallCall = (language: 'python' | 'node', name: string): string =>
  `Install it: install_packages ${JSON.stringify({ language, names: [toPackageName(name)] })}, then run the code again.`;

/** `@scope/name/part` is in the package `@scope/name`; a few Python modules have another name than their package. */
function toPackageName(module: string): string {
  const depth = module.startsWith('@') ? 2 : 1;
  const name = module.split('/').slice(0, depth).join('/');
  return packageNames[name] ?? name;
}

const packageNames: Readonly<Record<string, string>> = {
  PIL: 'pillow',
  bs4: 'beautifulsoup4',
  cv2: 'opencv-python-headless',
  dateutil: 'python-dateutil',
  docx: 'python-docx',
  pptx: 'python-pptx',
  sklearn: 'scikit-learn',
  skimage: 'scikit-image',
  yaml: 'pyyaml',
};

const joinSentences = (...all: string[]): string => all.filter((one) => one !== '').join(' ');

/** A package that is there may lack a part; then there is nothing to install. */
function describeMissingModule(name: string, surroundings: Surroundings): string | null {
  const { python } = surroundings;
  if (typeof python?.packages[name] === 'string') return null;
  if (surroundings.canInstall)
    return joinSentences(`Python has no ${name} here.`, toInstallCall('python', name));
  const line = python === null ? null : toInstallCommand(python, [name]);
  return joinSentences(
    `Python has no ${name} here.`,
    describeSurroundings(surroundings).trim(),
    describeOperatorRemedy(surroundings, line),
  );
}

function describeOperatorRemedy({ kind }: Surroundings, line: string | null = null): string {
  const where = kind === 'docker' ? ' in the image that code runs in' : '';
  return `Only whoever runs the server can install more${where}${line === null ? '' : `: ${line}`}.`;
}
