import type { CrateContainer, CrateFile } from '../sources/sources.ts';
import { startTimeSlices } from '../../concurrency/yield.ts';

export interface ListRequest {
  readonly glob: string | null;
  readonly limit: number;
  readonly offset: number;
}

export interface ListedPage {
  /** How many fit, in all. */
  readonly count: number;
  readonly files: readonly CrateFile[];
  readonly next: number | null;
}

/** A page is at its end as well when it takes so much as JSON: names have up to 4 KiB. */
const mostBytes = 1024 * 1024;
/** What stands around a name there. */
const aroundName = 120;

/** One page of the files that fit; all are looked at, since all are counted. */
export async function listedPage(
  container: CrateContainer,
  fits: (path: string) => boolean,
  { limit, offset }: Omit<ListRequest, 'glob'>,
  signal: AbortSignal,
): Promise<ListedPage> {
  const files: CrateFile[] = [];
  const slices = startTimeSlices(signal);
  let [count, bytes, isFull] = [0, 0, false];
  for await (const file of container.files(signal)) {
    if (slices.isOver()) await slices.next();
    signal.throwIfAborted();
    if (!fits(file.path)) continue;
    if (count++ < offset || isFull) continue;
    bytes += aroundName + Buffer.byteLength(JSON.stringify(file.path));
    isFull = files.length >= limit || (bytes > mostBytes && files.length > 0);
    if (!isFull) files.push(file);
  }
  const next = offset + files.length < count && files.length > 0 ? offset + files.length : null;
  return { count, files, next };
}
