/**
 * The command line and the pipes of a run without walls, and the limits that this backend cannot enforce. It starts
 * nothing: `../subprocess.ts` does.
 */
import { execFile } from 'node:child_process';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../../platform/errors.ts';
import { nodeDriver, pythonStarter } from '../drivers.ts';
import { createRuntimeLookup } from '../interpreters.ts';
import type { EnforcedClaims, Language, RunRequest, SandboxOptions } from '../sandbox.ts';

/** Paths of the programs of util-linux, null if they are missing, and of the interpreters. */
export interface Programs {
  readonly setpriv: string | null;
  readonly prlimit: string | null;
  readonly python: string;
  readonly bash: string;
}

/** Where runs look for the system's programs. */
export const systemFolders = ['/usr/local/bin', '/usr/bin', '/bin'] as const;

export async function findPrograms(): Promise<Programs> {
  for (const name of ['mkfifo', 'rm'])
    if ((await findProgram(name)) === null)
      throw new WorkcrateError('sandbox_unavailable', `${name} is missing. Install coreutils.`);
  return {
    setpriv: await findProgram('setpriv'),
    prlimit: await findProgram('prlimit'),
    // By their paths: packages of the user may have commands of these names.
    python: (await findProgram('python3', systemFolders)) ?? 'python3',
    bash: (await findProgram('bash', systemFolders)) ?? 'bash',
  };
}

const usualFolders = ['/usr/bin', '/bin', '/usr/local/bin', '/usr/sbin'];

async function findProgram(name: string, folders: readonly string[] = usualFolders): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

export interface SubprocessOptions extends SandboxOptions {
  /** A path, or null for the first on the PATH of runs. */
  readonly python: string | null;
}

/** One that is named has to work, as in the other backends. */
export async function checkPython(path: string): Promise<void> {
  const version = await createRuntimeLookup({ python: path, bash: 'bash', path: '/usr/bin:/bin' })('python');
  if (version === null)
    throw new WorkcrateError('sandbox_unavailable', `${path} does not run. Name another with --python.`);
}

interface CommandParts {
  readonly options: SubprocessOptions;
  readonly request: Pick<RunRequest, 'place' | 'language'>;
  readonly uid: number;
  /**
   * The file with the code, or for Python the folder with our modules: its code comes by a descriptor. Then the folder
   * with the tools that code may call, where it may.
   */
  readonly given: readonly string[];
}

/** Each program replaces itself by the next, so that the child is the interpreter in the end. */
export function buildCommand(programs: Programs, { options, request, uid, given }: CommandParts): string[] {
  const { fileBytes } = options.limits;
  const privileges = request.place.uid === null ? [] : dropPrivilegesFlags(uid);
  return [
    ...(programs.setpriv === null
      ? []
      : [programs.setpriv, ...privileges, '--no-new-privs', '--pdeathsig', 'KILL', '--']),
    ...(programs.prlimit === null ? [] : [programs.prlimit, '--core=0', `--fsize=${fileBytes}`, '--']),
    ...getInterpreter(request.language, { ...programs, python: options.python ?? programs.python }),
    ...given,
  ];
}

function dropPrivilegesFlags(uid: number): string[] {
  return ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--bounding-set=-all'];
}

/** What it is given follows. */
function getInterpreter(language: Language, { python, bash }: Programs): string[] {
  if (language === 'python') return [python, '-c', pythonStarter];
  return language === 'node' ? ['node', '-e', nodeDriver] : [bash, '--'];
}

export function describeSubprocessLimits(
  { setpriv, prlimit }: Programs,
  { network }: SandboxOptions,
): EnforcedClaims {
  const instead = 'Use bubblewrap or docker.';
  return {
    unprivileged: setpriv === null ? 'without setpriv (util-linux), programs like su work inside' : true,
    filesystem: `whatever this uid may read or write of the machine, a run may too, and nothing is mounted: /workspace is ~/workspace, /artifacts is ~/artifacts. ${instead}`,
    network:
      network === 'host'
        ? 'the network is allowed'
        : `the network of the machine is open to runs. ${instead}`,
    host_processes: `runs see all processes, signal those of their uid and read their environments. ${instead}`,
    whole_tree: `a process that leaves its session and changes its environment is not found again. ${instead}`,
    syscalls: `no system call is refused. ${instead}`,
    environment: true,
    fresh: `home and TMPDIR are fresh, but /tmp, /dev/shm and all else that everybody may write are shared. ${instead}`,
    memory: `there is no memory limit. ${instead}`,
    processes: `there is no limit on processes. ${instead}`,
    cpu: `there is no limit on cores. ${instead}`,
    file_size: prlimit === null ? 'prlimit is missing. Install util-linux.' : true,
    disk: true,
    tmp: `the temporary folder has no size of its own. ${instead}`,
  };
}

/** One end for the child, one for us. */
export interface Pipe {
  /** For `stdio` of spawn. Close it once the child has it. */
  readonly childEnd: number;
  readonly ours: Socket;
}

/**
 * Node gives children socket pairs, and a socket cannot be opened again: `echo x > /dev/stderr` fails. So these are named
 * pipes in a folder of the server, whose names are removed before anything runs.
 */
export async function createOutputPipes(folder: string, id: string): Promise<OutputPipes> {
  const names = ['out', 'err', 'report'].map((name) => join(folder, `${id}.${name}`));
  await promisify(execFile)('mkfifo', ['-m', '666', ...names]);
  const [stdout, stderr, report] = names.map(openPipe) as [Pipe, Pipe, Pipe];
  return { stdout, stderr, report };
}

export interface OutputPipes {
  readonly stdout: Pipe;
  readonly stderr: Pipe;
  readonly report: Pipe;
}

function openPipe(name: string): Pipe {
  const reading = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  const childEnd = openSync(name, constants.O_WRONLY);
  unlinkSync(name);
  return { childEnd, ours: new Socket({ fd: reading, readable: true, writable: false }) };
}

export function closeChildEnds(pipes: OutputPipes): void {
  for (const { childEnd } of Object.values(pipes) as Pipe[]) closeSync(childEnd);
}
