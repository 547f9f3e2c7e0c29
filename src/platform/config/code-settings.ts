/**
 * The settings of code that runs: the sandbox, its network, packages, limits, sessions and scripts. `settings.ts` puts
 * them into the list of all settings; where they are used is `server/execution.ts`, `server/network.ts` and
 * `server/packages.ts`.
 */
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import {
  bytes,
  choiceFrom,
  integer,
  list,
  networkOfRuns,
  optionalInteger,
  optionalText,
  optionalUrl,
  pythonModules,
  range,
  requiredText,
  seconds,
  trueOrFalse,
} from './kinds.ts';
import { defineSetting, gigabyte, megabyte, type SettingsEnvironment } from './setting.ts';

function findDefaultPython({ PATH = '' }: SettingsEnvironment): string | null {
  const folders = ['/usr/bin', ...PATH.split(':').filter(isAbsolute)];
  return folders.map((folder) => join(folder, 'python3')).find((path) => existsSync(path)) ?? null;
}

/** A link to npm-cli.js in most installations. Of others `doctor` says that they are of no use. */
function findDefaultNpm({ PATH = '' }: SettingsEnvironment): string | null {
  const folders = [...PATH.split(':').filter(isAbsolute), '/usr/bin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, 'npm')).find((path) => existsSync(path)) ?? null;
}

const packageSettings = {
  packages: defineSetting(
    trueOrFalse,
    true,
    'let users install Python and Node packages for their runs (install_packages)',
  ),
  packagesAllow: defineSetting(
    list,
    [],
    'packages that may be asked for: names, patterns and versions, such as pandas,node:@scope/*,numpy==1.26.4; default: all',
  ),
  pipIndexUrl: defineSetting(
    optionalUrl,
    null,
    'index that Python packages come from; default: that of pip on this machine',
    { secret: true },
  ),
  npmRegistry: defineSetting(
    optionalUrl,
    null,
    'registry that Node packages come from; default: that of npm on this machine',
    { secret: true },
  ),
  packagesHosts: defineSetting(
    list,
    [],
    'further hosts that an install may reach, such as one from which a registry sends its files: HOST or HOST:PORT',
  ),
  packagesSource: defineSetting(
    trueOrFalse,
    false,
    'let pip build packages of which there is only the source, which runs their code in the sandbox of the install',
  ),
  packagesUrls: defineSetting(
    trueOrFalse,
    false,
    'let packages be named by URLs, of hosts that an install may reach: name@https://…',
  ),
  packagesTimeout: defineSetting(seconds(1, 86_400), 600, 'seconds that an install may take'),
  packagesUserBytes: defineSetting(
    bytes,
    4 * gigabyte,
    'most disk space for the packages of a user, a part of --run-disk',
  ),
  npm: defineSetting(optionalText, findDefaultNpm, 'the npm that installs Node packages; the first on PATH'),
} as const;

export const codeSettings = {
  sandbox: defineSetting(
    choiceFrom('auto', 'bubblewrap', 'docker', 'subprocess', 'off'),
    'auto',
    'what code runs in: bubblewrap, docker, subprocess or off; auto is bubblewrap where it works, else off',
  ),
  allowSandbox: defineSetting(list, [], 'backends without walls that may be used: subprocess'),
  sandboxUids: defineSetting(
    range,
    { from: 1_900_000_000, to: 1_900_065_535 },
    'as root: uids for runs, one for each user',
  ),
  sandboxNetwork: defineSetting(
    networkOfRuns,
    'none',
    'network of runs: none, allow:HOST,… by a proxy, or host, which is the network of this machine',
  ),
  networkSecrets: defineSetting(
    optionalText,
    null,
    'file of secrets that the proxy adds for their hosts, so that no run has them',
  ),
  networkTls: defineSetting(
    trueOrFalse,
    false,
    'end TLS in the proxy for hosts that have a secret, with a certificate that only runs trust',
  ),
  networkAddresses: defineSetting(
    list,
    [],
    'names that lead to an address of your choice, also a private one: HOST=ADDRESS:PORT',
  ),
  python: defineSetting(
    optionalText,
    findDefaultPython,
    "the python3 that runs use; the system's before others on PATH",
  ),
  pythonPreload: defineSetting(
    pythonModules,
    ['numpy', 'pandas', 'matplotlib.pyplot'],
    'bubblewrap: modules that Python has loaded before a run starts, where they are installed',
  ),
  ...packageSettings,
  guard: defineSetting(
    optionalText,
    null,
    'rules that judge calls of tools: a file (YAML or JSON), or shipped for all rules that come with workcrate; default: none',
  ),
  toolsPath: defineSetting(
    optionalText,
    './tools',
    'folder that is /tools in runs, read-only; over stdio only if it is named',
    {
      aliases: ['MCP_TOOLS_PATH'],
    },
  ),
  skillsPath: defineSetting(
    optionalText,
    './skills',
    'folder of skills, which is /skills in runs, read-only; over stdio only if it is named',
    {
      aliases: ['MCP_SKILLS_PATH'],
    },
  ),
  replaceSkills: defineSetting(
    list,
    [],
    'skills that come with workcrate, by name, which those of the same name in --skills-path replace',
  ),
  executorImage: defineSetting(
    requiredText,
    'mcp-code-executor:latest',
    'docker: the image that code runs in',
    {
      aliases: ['MCP_EXECUTOR_IMAGE'],
    },
  ),
  dockerSocket: defineSetting(requiredText, '/var/run/docker.sock', 'docker: the socket of the engine'),
  dockerRuntime: defineSetting(optionalText, null, 'docker: another runtime, such as runsc'),
  runTimeout: defineSetting(
    seconds(1, 3600),
    30,
    'seconds that a run may take unless it asks for another time',
  ),
  runMaxTimeout: defineSetting(
    seconds(1, 86_400),
    300,
    'the longest time in seconds that a run may ask for, up to a day',
  ),
  detachAfter: defineSetting(
    seconds(0, 3600),
    45,
    'seconds after which a run goes on in the background, and its call is answered, if its client neither takes tasks nor listens to progress; 0: never',
  ),
  orphanGrace: defineSetting(
    seconds(0, 86_400),
    60,
    'seconds that a run goes on after its call lost the connection, unless its user asks for it; 0: it ends at once',
  ),
  runMemory: defineSetting(bytes, gigabyte, 'most memory of a run'),
  runProcesses: defineSetting(integer(4, 32_768), 128, 'most processes and threads of a run'),
  runCpus: defineSetting(integer(1, 1024), 2, 'cores that a run may use'),
  runFileSize: defineSetting(bytes, 2 * gigabyte, 'largest file that a run can write'),
  runDisk: defineSetting(bytes, 10 * gigabyte, 'most disk space for the files and packages of a user'),
  runTmp: defineSetting(bytes, gigabyte / 4, 'size of /tmp in a run'),
  runOutput: defineSetting(bytes, gigabyte / 4, 'most output of a run that is kept to be fetched by link'),
  outputChars: defineSetting(
    integer(100, 1_000_000),
    10_000,
    'characters of each output of a run that are shown and recorded; more is cut',
  ),
  outputHead: defineSetting(
    integer(1, 1_000_000),
    4000,
    'characters shown of the start of output that is cut',
  ),
  outputTail: defineSetting(integer(1, 1_000_000), 4000, 'characters shown of the end of output that is cut'),
  maxRuns: defineSetting(integer(1, 1000), 8, 'runs at once; further ones wait, up to ten times as many'),
  maxRunsUser: defineSetting(
    optionalInteger(1, 1000),
    null,
    'runs of one user at once; default: one less than --max-runs with --auth, else as many',
  ),
  sessionsUser: defineSetting(integer(1, 100), 5, 'sessions that a user may have open at once'),
  sessionIdle: defineSetting(seconds(1, 86_400), 900, 'seconds without use after which a session is ended'),
  toolCalls: defineSetting(integer(1, 100_000), 100, 'tools that the code of one run may call'),
  toolCallsAtOnce: defineSetting(integer(1, 1000), 8, 'calls of tools by one run at once; more wait'),
  scriptsUser: defineSetting(integer(1, 100_000), 500, 'saved scripts that a user may keep'),
  scriptsUserBytes: defineSetting(
    bytes,
    64 * megabyte,
    'most bytes of code in all versions of the scripts of one user',
  ),
  warmPython: defineSetting(integer(0, 100), 4, 'Python interpreters kept waiting for each user'),
  warmNode: defineSetting(integer(0, 100), 1, 'Node interpreters kept waiting for each user'),
  warmBash: defineSetting(integer(0, 100), 4, 'shells kept waiting for each user'),
} as const;
