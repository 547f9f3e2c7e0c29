import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ServerConfig as Config } from '../server/settings.ts';
import { openCrateSource, type SourceOptions } from '../features/crates/sources/sources.ts';
import { openBackend, reachDatabase } from '../ports/database/open.ts';
import { getErrno, isWorkcrateError } from '../platform/errors.ts';
import { isWorkcrate, tryToListen } from '../surfaces/http/port.ts';
import { localCaller } from '../core/identity.ts';
import { createLog } from '../platform/observability/log.ts';
import { findBestWalkMethod } from '../platform/paths/paths.ts';
import { programName } from '../platform/program.ts';
import { openDocuments } from '../features/documents/open.ts';
import { findLocalPacks, getPackTarget, getPackTargetKind } from '../features/crates/pack-target.ts';
import { toSourceOptions } from '../features/crates/source-options.ts';
import { findRefusals, type RefusedPart } from '../server/startable.ts';
import { getDatabaseLocation, toStorageOptions } from '../core/store-options.ts';
import { openStorage } from '../ports/storage/open.ts';
import { escapeControls } from '../platform/text/text.ts';
import { checkIssuerUrl } from '../core/users/issuer-url.ts';
import { listKeys } from '../core/users/keys.ts';
import { createIssuer } from '../core/users/oauth.ts';
import type { DoctorCheck, Finding } from '../core/command.ts';
import { features } from '../server/features.ts';
import type { ProgramInput } from './command.ts';
import { checkSandbox } from './doctor-sandbox.ts';
import { checkSkills } from './doctor-skills.ts';

/** `workcrate doctor`: what works on this machine, and what to do for the rest. Exit code 1 if it cannot serve. */
export async function runDoctor({ config }: ProgramInput): Promise<number> {
  const refusals = await findRefusals(config);
  /** What is refused is not tried. */
  const unlessRefused = async (
    part: RefusedPart,
    check: (config: Config) => Promise<Finding[]>,
  ): Promise<Finding[]> => (refusals.has(part) ? [] : check(config));
  const findings = [
    ...[...new Set([...refusals.values()].map(({ message }) => message))].map((message): Finding => ({
      state: 'broken',
      what: escapeControls(message),
    })),
    checkNode(),
    checkPathLayer(),
    ...(refusals.has('disk') ? [] : [checkFolder('data folder', config.data, '--data')]),
    ...(config.filesDir === null ? [] : [checkFolder('files folder', config.filesDir, '--files-dir')]),
    ...(await unlessRefused('address', checkAddress)),
    ...(await unlessRefused('database', checkDatabaseReachable)),
    ...(await unlessRefused('storage', checkStorage)),
    ...(await checkKeys(config)),
    ...(await unlessRefused('users', checkIssuer)),
    ...(await unlessRefused('crates', checkCrateSources)),
    ...(refusals.has('crates') || refusals.has('storage') ? [] : checkLocalPacks(config)),
    ...(await unlessRefused('documents', checkDocuments)),
    ...(await unlessRefused('folders', checkSkills)),
    ...(await checkFeatures(config, refusals)),
    ...(await unlessRefused('sandbox', checkSandbox)),
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

/** What features say of themselves. What is refused is not tried. */
async function checkFeatures(config: Config, refusals: ReadonlyMap<string, unknown>): Promise<Finding[]> {
  const checks = features.flatMap<DoctorCheck<Config>>((feature) => feature.doctor ?? []);
  const tried = checks.filter(({ unlessRefused }) => !refusals.has(unlessRefused));
  return (await Promise.all(tried.map(async ({ load }) => (await load())(config)))).flat();
}

function checkNode(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  const what = `Node ${process.versions.node} on ${process.platform} ${process.arch}`;
  return major >= 26
    ? { state: 'ok', what }
    : { state: 'broken', what, remedy: 'Install Node 26, such as with npm install --global node@26' };
}

function checkPathLayer(): Finding {
  return findBestWalkMethod() === 'descriptors'
    ? { state: 'ok', what: 'paths are opened step by step: a symbolic link cannot be swapped in between' }
    : {
        state: 'note',
        what: 'paths are checked before and after opening: a symbolic link may still be swapped in between',
        remedy: 'Linux with /proc mounted prevents that',
      };
}

function checkFolder(name: string, path: string, flag: string): Finding {
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

async function checkAddress({ host, port }: Config): Promise<Finding[]> {
  const failure = await tryToListen(host, port);
  if (failure === null) return [{ state: 'ok', what: `port ${port} on ${host} is free` }];
  if (getErrno(failure) !== 'EADDRINUSE')
    return [
      {
        state: 'broken',
        what: `cannot listen on port ${port} of ${host}: ${failure.message}`,
        remedy: 'Choose another with --host or --port',
      },
    ];
  if (await isWorkcrate(host, port))
    return [{ state: 'note', what: `port ${port} on ${host} is in use by a running workcrate` }];
  const remedy = 'Stop that, or choose another port with --port';
  return [{ state: 'broken', what: `port ${port} on ${host} is in use by another program`, remedy }];
}

async function checkDatabaseReachable(config: Config): Promise<Finding[]> {
  if (config.database === null || !/^postgres/i.test(config.database))
    return [{ state: 'ok', what: `database: SQLite ${process.versions.sqlite ?? ''} in the data folder` }];
  try {
    await reachDatabase(config.database);
    return [{ state: 'ok', what: 'database: PostgreSQL answers' }];
  } catch (error) {
    return [{ state: 'broken', what: `database: ${(error as Error).message}` }];
  }
}

/** Whether the sources of crates answer. Each by itself: one that does not keeps nobody from the others. */
async function checkCrateSources(config: Config): Promise<Finding[]> {
  const isOwnFolder = config.packTo === null && getPackTargetKind(config) === 'folder';
  const wanted = [
    ...config.crateSources.map((url) => () => toSourceOptions(config, url)),
    // The server makes its own folder.
    ...(isOwnFolder ? [] : [() => getPackTarget(config)]),
  ];
  return Promise.all(wanted.map(checkSource));
}

async function checkSource(getOptions: () => SourceOptions): Promise<Finding> {
  try {
    const source = await openCrateSource(getOptions());
    try {
      const { objects, next } = await source.list({ signal: AbortSignal.timeout(20_000) });
      const seen = `${objects.length}${next === null ? '' : ' or more'}`;
      return { state: 'ok', what: `crate source ${source.url} answers: ${seen} files` };
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    // What is wrong with a setting keeps the server from starting; a source that does not answer does not.
    const state = error.code === 'config_invalid' ? 'broken' : 'note';
    return { state, what: error.message, remedy: 'See --crate-sources and --pack-to' };
  }
}

/** Packed crates that only this server finds, although there may be others. */
function checkLocalPacks(config: Config): Finding[] {
  try {
    return findLocalPacks(config).map(({ what, remedy }) => ({ state: 'note', what, remedy }));
  } catch (error) {
    // What is wrong with the settings is told by the other checks.
    if (isWorkcrateError(error, 'config_invalid')) return [];
    throw error;
  }
}

const triedDocument = { layout: {}, bibliography: null, style: { name: null, content: null }, cites: false };

/** Whether documents can be built here: by building one. */
async function checkDocuments(config: Config): Promise<Finding[]> {
  await using documents = openDocuments({ config, library: () => null, log: createLog('off') });
  try {
    const { built, failures } = await documents.build(
      localCaller,
      { ...triedDocument, text: 'Does *this* work?', formats: ['docx', 'pdf'], referenceDoc: null },
      {
        signal: AbortSignal.timeout(60_000),
        pictures: { artifact: async () => null, file: async () => null },
        progress: () => {},
      },
    );
    const names = built.map(({ format }) => format).join(' and ');
    return [
      ...(names === '' ? [] : [{ state: 'ok' as const, what: `documents can be built: ${names}` }]),
      ...failures.map(({ format, message }) => ({
        state: 'note' as const,
        what: `${format} cannot be built`,
        remedy: message,
      })),
    ];
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return [{ state: 'note', what: 'documents cannot be built', remedy: error.message }];
  }
}

/** A store on the disk is told with its folder. */
async function checkStorage(config: Config): Promise<Finding[]> {
  if (config.storage !== 's3' && config.storage !== 'azure') return [];
  try {
    const storage = await openStorage(toStorageOptions(config));
    try {
      await storage.probe();
      return [{ state: 'ok', what: `storage: ${config.storage} answers and can be written to` }];
    } finally {
      await storage.close();
    }
  } catch (error) {
    return [{ state: 'broken', what: `storage: ${(error as Error).message}` }];
  }
}

async function checkKeys(config: Config): Promise<Finding[]> {
  if (!config.auth.includes('keys')) return [];
  const good = await countKeys(config).catch(() => 0);
  if (good > 0) return [{ state: 'ok', what: `users: ${good} valid keys` }];
  const remedy = `${programName} user add NAME makes one`;
  return [{ state: 'note', what: 'users: nobody has a valid key', remedy }];
}

/** Leaves the database as it is, also one that is not there yet, or not up to date. */
async function countKeys(config: Config): Promise<number> {
  const location = getDatabaseLocation(config);
  if (config.database === null && !existsSync(location)) return 0;
  const database = await openBackend(location);
  try {
    const now = Date.now();
    return (await listKeys(database)).filter(({ expiresAt }) => expiresAt === null || expiresAt > now).length;
  } finally {
    await database.close();
  }
}

async function checkIssuer({ auth, oauthIssuer }: Config): Promise<Finding[]> {
  if (!auth.includes('oauth')) return [];
  try {
    const { id } = await createIssuer(checkIssuerUrl(oauthIssuer), () => {})();
    return [{ state: 'ok', what: `users: the issuer ${id} answers` }];
  } catch (error) {
    return [
      {
        state: 'note',
        what: `users: ${(error as Error).message}`,
        remedy: 'Until it works, requests with tokens get 503',
      },
    ];
  }
}
