/**
 * The settings of code that runs: the sandbox, limits and sessions. `settings.ts` puts them into the list of the core.
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
  pythonModules,
  range,
  requiredText,
  seconds,
} from './kinds.ts';
import { defineSetting, gigabyte, type SettingsEnvironment } from './setting.ts';

function findDefaultPython({ PATH = '' }: SettingsEnvironment): string | null {
  const folders = ['/usr/bin', ...PATH.split(':').filter(isAbsolute)];
  return folders.map((folder) => join(folder, 'python3')).find((path) => existsSync(path)) ?? null;
}

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
  warmPython: defineSetting(integer(0, 100), 4, 'Python interpreters kept waiting for each user'),
  warmNode: defineSetting(integer(0, 100), 1, 'Node interpreters kept waiting for each user'),
  warmBash: defineSetting(integer(0, 100), 4, 'shells kept waiting for each user'),
} as const;
