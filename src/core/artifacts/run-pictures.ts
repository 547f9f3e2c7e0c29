/**
 * Shows pictures to a model: an artifact, or those that a run made. What is there was written by hostile code, so it is
 * opened like an artifact and judged by its bytes. Which files a run changed is decided in `changes.ts`.
 */
import { createHash } from 'node:crypto';
import type { ContentBlock } from '@modelcontextprotocol/server';
import { isWorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import { openBelow, parsePath } from '../../platform/paths/paths.ts';
import { detectPictureType, maxModelPictureBytes } from '../../platform/pictures.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import { canRunsRead, type Workspaces } from '../workspaces/workspaces.ts';
import { openArtifact, readAsBase64, type Artifact } from './artifact.ts';

/** The picture, or why it is not shown. */
export async function readArtifactPicture(
  artifact: Artifact,
  mostBytes = maxModelPictureBytes,
): Promise<ContentBlock | string> {
  if (artifact.size > mostBytes) return `it is larger than ${formatBytes(mostBytes)}`;
  const data = await readAsBase64(artifact);
  const mimeType = detectPictureType(Buffer.from(data.slice(0, 16), 'base64'));
  return mimeType === null ? 'it is not a PNG, JPEG, GIF or WebP' : { type: 'image', data, mimeType };
}

/** A picture costs a model some hundred tokens, and all of them are in memory at once. */
const maxPicturesOfRun = 4;

const artifactPictureName = /\.(?:png|jpe?g|gif|webp)$/i;

export interface PicturesOfRun {
  readonly pictures: readonly ContentBlock[];
  /** What is not shown, and why, in a line each. */
  readonly notes: readonly string[];
}

/** A file that a run made, by its path inside the sandbox and the hash that it had when the run ended. */
interface FileOfRunFolder {
  readonly path: string;
  /** Null where nobody hashed it. */
  readonly sha256: string | null;
}

/** Shows the pictures among files that a run has made, where they are still as the run left them. */
export function createPictureViewer({ places }: { readonly places: Pick<Workspaces, 'find'> }) {
  return async ({ user }: Caller, made: readonly FileOfRunFolder[]): Promise<PicturesOfRun> => {
    const named = made.filter(({ path }) => artifactPictureName.test(path));
    if (named.length === 0) return { pictures: [], notes: ['Not shown: the run made no picture file.'] };
    const place = await places.find(user);
    const pictures: ContentBlock[] = [];
    const notes: string[] = [];
    for (const file of named.slice(0, maxPicturesOfRun)) {
      const shown = await readPictureOfRun(place, file);
      if (typeof shown === 'string') notes.push(`Not shown: ${quoteName(file.path)}, since ${shown}.`);
      else pictures.push(shown);
    }
    const more = named.length - maxPicturesOfRun;
    if (more > 0)
      notes.push(
        `Not shown: ${more} more pictures; a run shows ${maxPicturesOfRun}, get_artifact one in /artifacts.`,
      );
    return { pictures, notes };
  };
}

const keptFolder = /^\/(?<root>workspace|artifacts)\/(?<below>.+)$/s;

async function readPictureOfRun(
  place: Workspace | null,
  { path, sha256 }: FileOfRunFolder,
): Promise<ContentBlock | string> {
  const { root, below } = keptFolder.exec(path)?.groups ?? {};
  if (place === null || root === undefined || below === undefined) return 'it is gone with the run';
  const folder = {
    root: openBelow(place[root as 'workspace' | 'artifacts'], { links: 'refuse', hidden: 'refuse' }),
    canRead: (stats: Parameters<typeof canRunsRead>[1]) => canRunsRead(place, stats),
  };
  try {
    using artifact = openArtifact(folder, below, Infinity, parsePath);
    const picture = await readArtifactPicture(artifact);
    if (typeof picture === 'string') return picture;
    if (sha256 === null) return 'it was not hashed when the run ended';
    return hashPicture(picture) === sha256 ? picture : 'it was changed after the run';
  } catch (error) {
    // The next run may have changed it already.
    if (isWorkcrateError(error, 'not_found') || isWorkcrateError(error, 'artifact_failed'))
      return 'it cannot be read any more';
    throw error;
  }
}

const hashPicture = (picture: ContentBlock): string =>
  createHash('sha256')
    .update('data' in picture ? Buffer.from(picture.data, 'base64') : '')
    .digest('hex');
