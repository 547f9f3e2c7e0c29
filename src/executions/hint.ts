/**
 * What to do about a run that failed because a package, a program or the network is missing. It reads only the messages of the
 * interpreters, and installs nothing.
 */
import {
  describeSurroundings,
  toInstallCommand,
  describeNetwork,
  type Surroundings,
} from './surroundings.ts';
import type { Execution } from './fields.ts';

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
