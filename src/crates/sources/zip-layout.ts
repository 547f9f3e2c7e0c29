import type { CrateIssue } from '../crate.ts';
import { startTimeSlices } from '../../concurrency/yield.ts';
import type { ZipDirectory } from '../../unzip/unzip.ts';
import { folderOf, metadataNames } from './place.ts';

/** Where in an archive the crate is. */
export interface Layout {
  readonly root: string;
  /** Which member its metadata is; null where there is none. */
  readonly metadata: number | null;
  readonly issues: readonly CrateIssue[];
  /** How many members have no safe path. */
  readonly unsafe: number;
}

interface Root {
  readonly path: string;
  readonly member: number;
  readonly depth: number;
  /** Whether it is what a BagIt bag is about. */
  readonly isPayload: boolean;
}

/** As crates are met: at the root, in one folder, in the `data/` of a bag in a folder; and one more for good measure. */
const mostDepth = 3;
/** How many of several are named. */
const mostNamed = 5;

/** Looks at all members once. The root that lies least deep is the crate's; of several, the rest is an issue. */
export async function layoutOf(directory: ZipDirectory, signal?: AbortSignal): Promise<Layout> {
  const roots = new Map<string, Root>();
  const slices = startTimeSlices(signal);
  let unsafe = 0;
  for (const { path, isFolder, isLink, index } of directory) {
    if (slices.isOver()) await slices.next();
    signal?.throwIfAborted();
    if (path === null) unsafe++;
    else if (!isFolder && !isLink) note(roots, directory, path, index);
  }
  const [first, ...others] = [...roots.values()].sort(byRank);
  if (first === undefined) return { root: '', metadata: null, issues: [], unsafe };
  const rivals = others.filter((other) => rankOf(other) === rankOf(first));
  return { root: first.path, metadata: first.member, issues: issuesOf(first, rivals), unsafe };
}

function note(roots: Map<string, Root>, directory: ZipDirectory, path: string, member: number): void {
  const folder = folderOf(path);
  const rank = metadataNames.indexOf(path.slice(folder.length));
  const depth = folder.split('/').length - 1;
  if (rank === -1 || depth > mostDepth) return;
  // Of two of one name the first counts; of two names the newer.
  if (roots.has(folder) && (rank > 0 || directory.find(path)?.index !== member)) return;
  const isPayload =
    /(?:^|\/)data\/$/.test(folder) && directory.find(`${folder.slice(0, -5)}bagit.txt`) !== null;
  roots.set(folder, { path: folder, member, depth, isPayload });
}

const rankOf = ({ depth, isPayload }: Root): number => 2 * depth + (isPayload ? 0 : 1);

const byRank = (a: Root, b: Root): number =>
  rankOf(a) - rankOf(b) ||
  a.path.length - b.path.length ||
  Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));

function issuesOf(first: Root, rivals: readonly Root[]): CrateIssue[] {
  if (rivals.length === 0) return [];
  const named = rivals.slice(0, mostNamed).map(({ path }) => JSON.stringify(path));
  const more = rivals.length > mostNamed ? ` and ${rivals.length - mostNamed} more` : '';
  const message =
    `The archive holds ${rivals.length + 1} crates that lie equally deep. Taken is the one in ` +
    `${JSON.stringify(first.path)}, and not ${named.join(', ')}${more}.`;
  return [{ code: 'several_roots', message, count: rivals.length + 1 }];
}
