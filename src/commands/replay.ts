import { tmpdir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { readMetadata } from '../crates/metadata/metadata.ts';
import {
  createReplayWorkspace,
  replayCrate,
  toReplayJson,
  formatReplayReport,
} from '../crates/pack/replay.ts';
import {
  ownedByEverybody,
  openCrateContainer,
  openCrateSource,
  toCrateLocation,
  type CrateContainer,
} from '../crates/sources/sources.ts';
import { WorkcrateError } from '../errors.ts';
import { createLog } from '../observability/log.ts';
import { openSandbox } from '../sandbox/open.ts';
import { toSandboxOptions, getSandboxUids } from '../server/execution.ts';
import type { CommandInput } from './command.ts';
import { demandCrate, openCrateDesk } from './crate-desk.ts';
import { demandData } from './open-unlocked.ts';
import { createInterruptSignal } from './signals.ts';

interface ReplayInput extends CommandInput {
  readonly words: readonly string[];
}

/** `workcrate replay CRATE`: runs a packed crate again and compares its results. Exit code 1 where they differ. */
export async function runReplay(input: ReplayInput): Promise<number> {
  const which = input.words[0]!;
  const { config, flags } = input;
  await using opened = new AsyncDisposableStack();
  const stop = opened.use(createInterruptSignal());
  const container = await openCrateToReplay(input, which, opened, stop.signal);
  const metadata = readMetadata(await container.metadata(config.maxMetadata, stop.signal));
  const sandbox = opened.use(await openReplaySandbox(config));
  const { place } = opened.use(await createReplayWorkspace(tmpdir(), getSandboxUids(config)?.to ?? null));
  const report = await replayCrate({
    metadata,
    read: async (path, signal) => {
      const file = await container.find(path);
      return file && container.read(file, { limit: config.runDisk, signal });
    },
    sandbox,
    place,
    timeoutMs: config.runMaxTimeout * 1000,
    signal: stop.signal,
  });
  process.stdout.write(
    flags['json'] === undefined
      ? formatReplayReport(report)
      : `${JSON.stringify(toReplayJson(report), null, 2)}\n`,
  );
  return report.reproduced ? 0 : 1;
}

const crateIdForm = /^crate_[0-9a-f]{24}$/;

async function openCrateToReplay(
  input: ReplayInput,
  which: string,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<CrateContainer> {
  if (crateIdForm.test(which)) {
    demandData(input.config);
    const desk = opened.use(await openCrateDesk(input));
    await demandCrate(desk, which);
    return opened.use(await desk.crates.inside.open(desk.caller, which, signal));
  }
  const path = resolve(which);
  const folder = await openCrateSource({ kind: 'folder', directory: dirname(path) });
  opened.defer(() => folder.close());
  const object = await folder.stat(basename(path), signal);
  const place = object && toCrateLocation(folder, object, ownedByEverybody);
  if (place) return opened.use(await openCrateContainer(folder, place, { signal }));
  throw new WorkcrateError(
    'not_found',
    `${JSON.stringify(which)} is neither a crate_id nor a file that can be a crate (.zip, .eln, ro-crate-metadata.json).`,
  );
}

async function openReplaySandbox(config: Config) {
  if (config.sandbox === 'off')
    throw new WorkcrateError(
      'sandbox_unavailable',
      'Code does not run here: the sandbox is off (--sandbox off).',
    );
  const kind = config.sandbox === 'auto' ? 'bubblewrap' : config.sandbox;
  const warm = { python: 0, node: 0, bash: 0 };
  return openSandbox({ ...toSandboxOptions(config, createLog('warn')), warm, kind });
}
