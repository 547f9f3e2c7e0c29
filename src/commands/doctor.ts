import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { errnoOf } from '../errors.ts';
import { reachDatabase } from '../database/open.ts';
import { bestFooting } from '../paths/paths.ts';
import { sendfileAvailable } from '../transfer/transfer.ts';
import { isWorkcrate, tryToListen } from '../web/port.ts';
import { isLoopbackHost } from '../net/addresses.ts';
import type { CommandInput } from './command.ts';
import { crateFindings } from './doctor-crates.ts';
import { documentFindings } from './doctor-documents.ts';
import { sandboxFindings } from './doctor-sandbox.ts';
import { teamFindings } from './doctor-team.ts';

export interface Finding {
  readonly state: 'ok' | 'note' | 'broken';
  readonly what: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** `workcrate doctor`: what works on this machine, and what to do for the rest. Exit code 1 if it cannot serve. */
export async function doctor({ config }: CommandInput): Promise<number> {
  const findings = [
    node(),
    sendfile(config),
    pathLayer(),
    folder('data folder', config.data, '--data'),
    ...(config.filesDir === null ? [] : [folder('files folder', config.filesDir, '--files-dir')]),
    await address(config),
    await database(config),
    ...(await teamFindings(config)),
    ...(await crateFindings(config)),
    ...(await documentFindings(config)),
    ...(await sandboxFindings(config)),
  ];
  for (const { state, what, remedy } of findings)
    process.stdout.write(`${state.padEnd(7)}${what}${remedy ? `\n       → ${remedy}` : ''}\n`);
  const broken = findings.filter((finding) => finding.state === 'broken').length;
  process.stdout.write(
    broken === 0
      ? 'workcrate can start here\n'
      : `${broken} ${broken === 1 ? 'problem' : 'problems'} to fix before workcrate can start here\n`,
  );
  return broken === 0 ? 0 : 1;
}

function node(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  const what = `Node ${process.versions.node} on ${process.platform} ${process.arch}`;
  return major >= 26
    ? { state: 'ok', what }
    : { state: 'broken', what, remedy: 'Install Node 26, such as with npm install --global node@26' };
}

function sendfile(config: Config): Finding {
  if (config.sendfile === 'off')
    return { state: 'note', what: 'files are read and then sent: sendfile is off (--sendfile off)' };
  if (sendfileAvailable()) return { state: 'ok', what: 'files are sent by the kernel (sendfile)' };
  return {
    state: 'note',
    what: 'files are read and then sent, which takes about twice the CPU',
    remedy: 'sendfile needs Linux and a Node with node:ffi (26.10 or later)',
  };
}

function pathLayer(): Finding {
  return bestFooting() === 'descriptors'
    ? { state: 'ok', what: 'paths are opened step by step: a symbolic link cannot be swapped in between' }
    : {
        state: 'note',
        what: 'paths are checked before and after opening: a symbolic link may still be swapped in between',
        remedy: 'Linux with /proc mounted prevents that',
      };
}

function folder(name: string, path: string, flag: string): Finding {
  let there = path;
  while (!existsSync(there)) there = dirname(there);
  if (!statSync(there).isDirectory())
    return {
      state: 'broken',
      what: `${name} ${path}: ${there} is a file`,
      remedy: `Choose another with ${flag}`,
    };
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch {
    const remedy = `Give this user permission to write, or choose another with ${flag}`;
    return { state: 'broken', what: `${name} ${path} cannot be written`, remedy };
  }
  const { bavail, bsize } = statfsSync(there);
  const free = (bavail * bsize) / 1024 ** 3;
  return { state: free < 1 ? 'note' : 'ok', what: `${name} ${path}, ${free.toFixed(1)} GB free` };
}

async function address({ host, port, auth }: Config): Promise<Finding> {
  if (!isLoopbackHost(host) && auth.length === 0)
    return {
      state: 'broken',
      what: `${host} is not loopback: anyone who can reach it could use workcrate`,
      remedy: 'Require keys (--auth keys), or listen on 127.0.0.1',
    };
  const failure = await tryToListen(host, port);
  if (failure === null) return { state: 'ok', what: `port ${port} on ${host} is free` };
  if (errnoOf(failure) !== 'EADDRINUSE')
    return {
      state: 'broken',
      what: `cannot listen on port ${port} of ${host}: ${failure.message}`,
      remedy: 'Choose another with --host or --port',
    };
  if (await isWorkcrate(host, port))
    return { state: 'note', what: `port ${port} on ${host} is in use by a running workcrate` };
  const remedy = 'Stop that, or choose another port with --port';
  return { state: 'broken', what: `port ${port} on ${host} is in use by another program`, remedy };
}

async function database(config: Config): Promise<Finding> {
  if (config.database === null || !/^postgres/i.test(config.database))
    return { state: 'ok', what: `database: SQLite ${process.versions.sqlite ?? ''} in the data folder` };
  try {
    await reachDatabase(config.database);
    return { state: 'ok', what: 'database: PostgreSQL answers' };
  } catch (error) {
    return { state: 'broken', what: `database: ${(error as Error).message}` };
  }
}
