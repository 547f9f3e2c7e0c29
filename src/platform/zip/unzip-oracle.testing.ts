import { buffer } from 'node:stream/consumers';
import yauzl from 'yauzl';

export interface Theirs {
  readonly fileName: string;
  readonly size: number;
  readonly compressedSize: number;
  /** Null from the 200th on: reading thousands takes long. */
  readonly content: Buffer | null;
}

/** What yauzl makes of an archive, which is the judge of ours. */
export async function listedByYauzl(archive: string | Buffer): Promise<Theirs[]> {
  const zip =
    typeof archive === 'string' ? await yauzl.openPromise(archive) : await yauzl.fromBufferPromise(archive);
  const members: Theirs[] = [];
  for await (const entry of zip.eachEntry()) {
    const content = members.length < 200 ? await buffer(await zip.openReadStreamPromise(entry)) : null;
    members.push({
      fileName: entry.fileName,
      size: entry.uncompressedSize,
      compressedSize: entry.compressedSize,
      content,
    });
  }
  return members;
}
