import { difference, snapshot, type Changes } from '../../artifacts/changes.ts';
import { here, parseName } from '../../paths/paths.ts';
import type { Place } from '../../sandbox/sandbox.ts';
import { measure, placeFile } from './place-files.ts';
import { replayFolder } from './replay-place.ts';

/** The folder of the run and /artifacts, as every run's are compared. */
export async function look({ workspace, artifacts }: Place) {
  return {
    working: await snapshot(workspace, parseName('replay')),
    artifacts: await snapshot(artifacts, here),
  };
}

type Look = Awaited<ReturnType<typeof look>>;

export function differences(before: Look, after: Look): { names: string[]; complete: boolean } {
  const working = difference(before.working, after.working);
  const artifacts = difference(before.artifacts, after.artifacts);
  const isAll = ({ complete, omitted }: Changes): boolean =>
    complete && omitted.created + omitted.modified === 0;
  return {
    names: [
      ...working.created,
      ...working.modified,
      ...[...artifacts.created, ...artifacts.modified].map((name) => `/artifacts/${name}`),
    ],
    complete: isAll(working) && isAll(artifacts),
  };
}

/** Files that no crate could hold, such as links and hidden ones, are no results. */
export async function hashes(
  place: Place,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of names) {
    const file = placeFile(place, replayFolder, name);
    const measured = file && (await measure(file, signal));
    if (measured !== null && typeof measured !== 'string') found.set(name, measured.sha256);
  }
  return found;
}
