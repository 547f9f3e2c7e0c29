import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Language } from './sandbox.ts';

/** Where the interpreters of this machine are. `node` is that of the server, so its version is known. */
export interface Interpreters {
  readonly python: string;
  readonly bash: string;
  /** Where names are looked up. */
  readonly path: string;
}

const versionAnswerMs = 10_000;

const versionArguments = {
  python: ['--version'],
  bash: ['-c', 'echo "GNU bash $BASH_VERSION"'],
} as const;

/** Asks each interpreter for its version, on demand and only once; null if it does not answer. */
export function createRuntimeLookup(
  interpreters: Interpreters,
): (language: Language) => Promise<string | null> {
  const known = new Map<Language, Promise<string | null>>();
  return (language) => {
    const answer = known.get(language) ?? askVersion(interpreters, language);
    known.set(language, answer);
    return answer;
  };
}

async function askVersion(interpreters: Interpreters, language: Language): Promise<string | null> {
  if (language === 'node') return `Node.js ${process.version}`;
  try {
    const { stdout } = await promisify(execFile)(interpreters[language], versionArguments[language], {
      timeout: versionAnswerMs,
      maxBuffer: 10_000,
      env: { PATH: interpreters.path },
    });
    return parseVersionLine(stdout);
  } catch {
    // A run of it will report what is wrong.
    return null;
  }
}

/** The first line, if it is a program and its version: `Python 3.11.2`. */
export function parseVersionLine(text: string): string | null {
  const [line] = text.split('\n');
  return /^[A-Z][A-Za-z. ]{1,40} v?\d[\w.()+-]{0,60}$/.test(line!) ? line! : null;
}

/** What the Python of runs has of the packages that people expect. */
export interface PythonPackages {
  /** Such as `3.11`. */
  readonly version: string;
  /** By the name that `import` takes, with the version; null where it is missing. */
  readonly packages: Readonly<Record<string, string | null>>;
  /** Whether it is the Python of Debian itself, whose packages come by apt-get. */
  readonly isDebian: boolean;
}

/** Packages that people expect, by the name that `import` takes, and what Debian calls them. The first matter most. */
export const debianNames: Readonly<Record<string, string>> = {
  numpy: 'python3-numpy',
  pandas: 'python3-pandas',
  matplotlib: 'python3-matplotlib',
  scipy: 'python3-scipy',
  sklearn: 'python3-sklearn',
  sympy: 'python3-sympy',
  seaborn: 'python3-seaborn',
  statsmodels: 'python3-statsmodels',
  networkx: 'python3-networkx',
  openpyxl: 'python3-openpyxl',
  requests: 'python3-requests',
  yaml: 'python3-yaml',
  lxml: 'python3-lxml',
  bs4: 'python3-bs4',
  PIL: 'python3-pil',
};

/** Packages whose distribution has another name, by which its version is known. */
const distributions = { sklearn: 'scikit-learn', yaml: 'PyYAML', bs4: 'beautifulsoup4', PIL: 'Pillow' };

/** Looks for packages without importing any. It holds no single quote, so that a shell can be given it. */
export const packageScript = `import sys, os, json
from importlib.util import find_spec
from importlib.metadata import version
known = json.loads(${JSON.stringify(JSON.stringify(distributions))})
def look(name):
    try:
        if find_spec(name) is None: return None
    except Exception: return None
    try: return version(known.get(name, name))
    except Exception: return ""
names = ${JSON.stringify(Object.keys(debianNames))}
debian = os.path.exists("/etc/debian_version") and sys.prefix == "/usr"
print("packages", json.dumps({"version": "%d.%d" % sys.version_info[:2], "debian": debian, "packages": {name: look(name) for name in names}}))`;

/** Reads what the script printed, among other lines; null where it did not come to that. */
export function parsePackages(output: string): PythonPackages | null {
  const line = output.split('\n').find((text) => text.startsWith('packages {'));
  if (line === undefined) return null;
  try {
    const told = JSON.parse(line.slice('packages '.length)) as Record<string, unknown>;
    const { version, debian, packages } = told;
    if (typeof version !== 'string' || !/^\d+\.\d+$/.test(version)) return null;
    const found = (packages ?? {}) as Record<string, unknown>;
    const versions = Object.keys(debianNames).map(
      (name) => [name, parsePackageVersion(found[name])] as const,
    );
    return { version, isDebian: debian === true, packages: Object.fromEntries(versions) };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** An image may say anything: what goes into a description for models is a version, or nothing. */
function parsePackageVersion(told: unknown): string | null {
  if (typeof told !== 'string') return null;
  return /^\d[\w.+-]{0,30}$/.test(told) ? told : '';
}

/** Names all that is installed, by the folders that say so. It holds no single quote, and imports nothing slow. */
export const distributionScript = `import sys, os, re, json
form = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*?)-([0-9][^-]*)(?:-.*)?[.](?:dist-info|egg-info)$")
found = {}
for path in sys.path:
    try: names = os.listdir(path) if path else []
    except OSError: names = []
    for match in filter(None, map(form.match, sorted(names))): found.setdefault(re.sub("[-_.]+", "-", match[1]).lower(), match[2])
print("distributions", json.dumps(dict(list(found.items())[:5000])))`;

/** By normalized name, with the version. Reads what the script printed, among other lines. */
export function parseDistributions(output: string): ReadonlyMap<string, string> {
  const line = output.split('\n').find((text) => text.startsWith('distributions {'));
  try {
    const told = JSON.parse(line?.slice('distributions '.length) ?? '{}') as Record<string, unknown>;
    const pairs = Object.entries(told).map(
      ([name, version]) => [name, parsePackageVersion(version)] as const,
    );
    return new Map(pairs.filter((pair): pair is [string, string] => pair[1] !== null));
  } catch (error) {
    if (error instanceof SyntaxError) return new Map();
    throw error;
  }
}

const packagesAnswerMs = 10_000;

/** Asks an interpreter of this machine, on demand and only once; null if it does not answer. */
export function createPackageLookup(python: string, path: string): () => Promise<PythonPackages | null> {
  let known: Promise<PythonPackages | null> | null = null;
  return () => (known ??= askForPackages(python, path));
}

async function askForPackages(python: string, path: string): Promise<PythonPackages | null> {
  return parsePackages(await runScript(python, path, packageScript));
}

/** As `createPackageLookup`, for all that is installed. */
export function createDistributionLookup(
  python: string,
  path: string,
): () => Promise<ReadonlyMap<string, string>> {
  let known: Promise<ReadonlyMap<string, string>> | null = null;
  return () => (known ??= runScript(python, path, distributionScript).then(parseDistributions));
}

/** What it prints; empty where it fails: a run of it will report what is wrong. */
async function runScript(python: string, path: string, script: string): Promise<string> {
  try {
    // Without the packages in the server's own home folder, which runs do not see, and without modules that lie in the
    // folder that the server was started in.
    const { stdout } = await promisify(execFile)(python, ['-s', '-c', script], {
      cwd: '/',
      timeout: packagesAnswerMs,
      maxBuffer: 1_000_000,
      env: { PATH: path },
    });
    return stdout;
  } catch {
    return '';
  }
}
