import { WorkcrateError } from '../../errors.ts';
import { mediaTypeOf } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { LinkTerms, SharedLink } from '../../links/links.ts';
import { lastingName } from '../../storage/source.ts';
import { collectBytes } from '../../streams.ts';
import type { CratePlace } from '../crate.ts';
import { createDigestRange } from './digest-range.ts';
import { demandFile, type InsideOptions, type OpenCrate } from './opened.ts';
import type { Reference } from './reference.ts';
import { wholeCrate, type WatchingPack } from './whole.ts';

type Open = (caller: Caller, crateId: string, signal: AbortSignal) => Promise<OpenCrate>;

/** Hands out crates and what is in them, by link or, where they are small, as bytes. */
export function createHandingOut(options: InsideOptions, open: Open) {
  const digestRange = createDigestRange();
  return {
    /**
     * A link to one file. What is stored as it is leaves straight out of its source, by any range; what is compressed
     * is unpacked once, and kept as a file of the caller's for as long as the link lives.
     */
    async linkFile(
      caller: Caller,
      crateId: string,
      path: string,
      terms: LinkTerms,
      signal: AbortSignal,
    ): Promise<SharedLink<string | null>> {
      const { place, source, container } = await open(caller, crateId, signal);
      await using _held = container;
      const file = await demandFile(container, path);
      const name = path.slice(path.lastIndexOf('/') + 1);
      const stored = await container.stored(file, signal);
      if (stored !== null) {
        const sha256 = await digestRange(source, stored, signal);
        const described = { filename: name, mediaType: mediaTypeOf(name), sha256 };
        const modified = file.modified ?? place.modified;
        const reference: Reference = { source: lastingName(source), ...stored, ...described, modified };
        return await options.links.shareElsewhere(caller, JSON.stringify(reference), terms);
      }
      const limit = options.files.maxFileSize;
      if (file.size > limit) throw tooLarge(path, file.size, limit);
      const kept = { name, origin: 'crate', keepSeconds: terms.ttlSeconds };
      const bytes = container.read(file, { limit, signal });
      const { id } = await options.files.add(caller, kept, bytes, signal);
      return await options.links.share(caller, id, terms);
    },

    /** A link to the whole crate: to the archive as it stands, or to one made of its folder. */
    async download(
      caller: Caller,
      crateId: string,
      terms: LinkTerms,
      watching: WatchingPack,
      /** Where it is known, as it is of a crate that was just packed. */
      sha256: string | null = null,
    ) {
      const { place, source, container } = await open(caller, crateId, watching.signal);
      await using _held = container;
      const wanted = { caller, place, source, container, terms, sha256 };
      const shared = await wholeCrate({ ...options, digestRange }, wanted, watching);
      return { locator: place.locator, shared };
    },

    /** The whole crate as bytes, up to the limit. */
    async bytes(caller: Caller, crateId: string, signal: AbortSignal) {
      const { place, source, container } = await open(caller, crateId, signal);
      await using _held = container;
      const { mostBytes } = options;
      if (place.kind === 'folder')
        throw new WorkcrateError(
          'unsupported',
          'This crate is a folder, which is not given as base64. Take it by link: delivery "link".',
        );
      await using object = await source.open(place.object, signal);
      if (object === null || object.object.stamp !== place.stamp) throw goneSince(place);
      if (object.size > mostBytes) throw beyond(object.size, mostBytes);
      return { locator: place.locator, bytes: await collectBytes(object.read(0, object.size, signal)) };
    },
  };
}

const tooLarge = (path: string, size: number, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${JSON.stringify(path.slice(0, 200))} takes ${size} bytes unpacked; at most ${most} are. Take the whole crate with download_crate.`,
  );

const beyond = (size: number, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The crate takes ${size} bytes; as base64 at most ${most} are given. Take it by link: download_crate with delivery "link".`,
  );

const goneSince = ({ locator }: CratePlace): WorkcrateError =>
  new WorkcrateError(
    'crate_changed',
    `${locator} has changed since it was indexed. sync_index, then try again.`,
  );
