import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { plainSandbox } from '../../core/runs/plain-sandbox.testing.ts';
import type { Sandbox } from '../../ports/sandbox/sandbox.ts';
import { collectBytes } from '../../platform/streams.ts';
import { readMetadata } from '../crates/metadata/metadata.ts';
import { metadataIn, openZip } from './packing.testing.ts';
import { createReplayWorkspace, replayCrate, type ReplayReport } from './replay.ts';

interface Changed {
  readonly sandbox?: Sandbox;
  readonly metadata?: (text: string) => string;
  readonly bytes?: (path: string, bytes: Buffer) => Buffer;
}

/** Replays a packed crate, perhaps changed, on real interpreters, in folders of its own that are gone afterwards. */
export async function replay(zip: Buffer, { metadata, bytes, sandbox }: Changed = {}): Promise<ReplayReport> {
  const archive = await openZip(zip);
  const text = await metadataIn(zip);
  const members = new Map<string, Buffer>();
  for (const { path } of archive.directory) {
    const whole = await collectBytes((await archive.read(path!))!);
    members.set(path!, bytes?.(path!, whole) ?? whole);
  }
  return replayFiles(metadata?.(text) ?? text, members, sandbox);
}

export async function replayFiles(
  metadata: string,
  members: ReadonlyMap<string, Buffer>,
  given?: Sandbox,
): Promise<ReplayReport> {
  const parent = await mkdtemp(join(tmpdir(), 'workcrate-replay-test-'));
  const { signal } = new AbortController();
  const read = async (path: string) => {
    const bytes = members.get(path);
    return bytes === undefined ? null : Readable.from([bytes]);
  };
  const crate = { metadata: readMetadata(Buffer.from(metadata)), read };
  try {
    await using sandbox = given ?? plainSandbox();
    await using opened = await createReplayWorkspace(parent, null);
    return await replayCrate({ ...crate, sandbox, place: opened.place, timeoutMs: 20_000, signal });
  } finally {
    assert.deepEqual(readdirSync(parent), []);
    await rm(parent, { recursive: true });
  }
}
