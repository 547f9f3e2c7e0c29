/**
 * Puts a file into the folders of a replay as a run read it once: by its recorded hash, and no other bytes. What to
 * provide is known to whoever replays.
 */
import type { Executions } from '../../core/runs/executions.ts';
import type { ProvidedInput } from '../../core/runs/sessions/sessions.ts';
import type { KeptReader } from '../provenance/provenance.ts';
import { digestWhileReading } from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import type { Workspaces } from '../../core/workspaces/workspaces.ts';
import { fileChangedWhilePackingError } from '../crates/contents/archive.ts';
import { createKeptBytes, findUnchangedFile } from './recorded-bytes.ts';
import { hashReplayFile, writeReplayInput } from './replay-workspace.ts';

/** Null once the file is there, or where a step before has made it; else why there are no bytes of it, as a clause. */
export function createInputProvider({
  executions,
  keptResults,
  places,
}: {
  readonly executions: Pick<Executions, 'get'>;
  readonly keptResults: Pick<KeptReader, 'findResult'>;
  readonly places: Pick<Workspaces, 'find'>;
}) {
  return async (
    caller: Caller,
    to: Workspace,
    { path, from, size, sha256, madeBy }: ProvidedInput,
    signal: AbortSignal,
  ): Promise<string | null> => {
    if ((await hashReplayFile(to, path, signal)) !== null) return null;
    const kept = createKeptBytes({ executions, keptResults }, caller);
    if (madeBy !== null) await kept.addById(madeBy);
    const home = await places.find(caller.user);
    const bytes =
      (await kept.find(sha256, signal)) ??
      (await findUnchangedFile(home, { workingDir: '/', name: from }, { size, sha256 }, signal));
    if (typeof bytes === 'string') return bytes;
    const through = digestWhileReading(bytes.read(signal));
    await writeReplayInput(to, path, through.bytes);
    if (through.digest().sha256 !== sha256) throw fileChangedWhilePackingError(path);
    return null;
  };
}
