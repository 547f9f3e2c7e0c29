import { tmpdir } from 'node:os';
import { readOperatorKey } from '../platform/config/config.ts';
import type { ServerConfig as Config } from '../server/settings.ts';
import { readMetadata } from '../features/crates/metadata/metadata.ts';
import {
  createReplayWorkspace,
  replayCrate,
  toReplayJson,
  formatReplayReport,
} from '../features/packing/replay.ts';
import { WorkcrateError } from '../platform/errors.ts';
import type { Toolbox } from '../core/offer/toolbox.ts';
import { createLog } from '../platform/observability/log.ts';
import { openSandbox } from '../ports/sandbox/open.ts';
import { toSandboxOptions, getSandboxUids } from '../server/execution.ts';
import type { ProgramInput } from './command.ts';
import { findServerAddress } from './find-server.ts';
import { openNamedCrate } from './open-crate.ts';
import { createReplayTools } from './replay-tools.ts';
import { createServerToolbox } from './server-tools.ts';
import { createInterruptSignal } from '../platform/command-line/signals.ts';
import { usageError } from '../platform/command-line/usage-error.ts';

/** `workcrate replay CRATE`: runs a packed crate again and compares its results. Exit code 1 where they differ. */
export async function runReplay(input: ProgramInput): Promise<number> {
  const which = input.words[0]!;
  const { config, flags } = input;
  const isLive = readToolsFlag(flags['tools']) === 'live';
  await using opened = new AsyncDisposableStack();
  const stop = opened.use(createInterruptSignal());
  const { container } = await openNamedCrate(input, which, opened, stop.signal);
  const metadata = readMetadata(await container.metadata(config.maxMetadata, stop.signal));
  const sandbox = opened.use(await openReplaySandbox(config));
  const { place } = opened.use(await createReplayWorkspace(tmpdir(), getSandboxUids(config)?.to ?? null));
  const tools = createReplayTools(config, isLive ? findServerTools(input, stop.signal) : null);
  const report = await replayCrate({
    metadata,
    read: async (path, signal) => {
      const file = await container.find(path);
      return file && container.read(file, { limit: config.runDisk, signal });
    },
    sandbox,
    tools,
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

/** The word is that of a setting, which means groups of tools to other commands. */
function readToolsFlag(given = 'recorded'): 'recorded' | 'live' {
  if (given === 'recorded' || given === 'live') return given;
  throw usageError(`--tools takes recorded or live, not ${JSON.stringify(given.slice(0, 50))}`, 'replay');
}

function findServerTools(input: ProgramInput, signal: AbortSignal): Toolbox {
  const { url } = findServerAddress(input);
  return createServerToolbox({ url, key: readOperatorKey(input.flags), signal, onProgress: () => {} });
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
