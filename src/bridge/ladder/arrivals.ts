import type { Files, StoredFile } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Upload, Uploads } from '../../links/links.ts';
import { noteOf, purposeOf, type Note } from './awaited-note.ts';
import type { Errand } from './errand.ts';

/** What came, for as long as somebody looks at it. */
export interface Came {
  readonly file: StoredFile;
  /** By which it was asked for. */
  readonly rung: Note['rung'];
  /** Its bytes. A chunk is good only until the next is asked for. */
  readonly read: () => AsyncIterable<Uint8Array>;
  /** Lets the file stay, whatever becomes of this call: later calls find it again until it expires. */
  readonly keep: () => void;
}

export interface ArrivalsOptions {
  readonly uploads: Pick<Uploads, 'file' | 'arrivedFor' | 'claim' | 'giveBack'>;
  readonly files: Pick<Files, 'open' | 'remove'>;
}

interface Arrival {
  readonly upload: Upload;
  readonly file: StoredFile;
}

/** Files that came, by what they were asked for. Any server finds them; one call at a time has them. */
export function createArrivals({ uploads, files }: ArrivalsOptions) {
  /** What came last, which then is this call's alone; older ones are of no more use. */
  async function claimed({ user }: Caller, errand: Errand): Promise<Arrival | null> {
    const came = await uploads.arrivedFor(user, purposeOf(errand));
    for (const [at, upload] of came.entries()) {
      const file = await uploads.file(upload);
      // Another call may have had it in the meantime.
      if (!(await uploads.claim(upload))) return null;
      // Deleted by its owner: it counts as never sent.
      if (file === null) continue;
      for (const older of came.slice(at + 1)) await drop(older);
      return { upload, file };
    }
    return null;
  }

  async function drop(upload: Upload): Promise<void> {
    if (await uploads.claim(upload)) await release(upload);
  }

  /** Deletes what came; where somebody was told of it, it stays until it expires. */
  async function release(upload: Upload): Promise<void> {
    if (!noteOf(upload).isKept) await files.remove({ user: upload.owner }, upload.fileId!);
  }

  async function keepStored(upload: Upload, { expiresAt }: StoredFile): Promise<void> {
    const note = JSON.stringify({ ...noteOf(upload), isKept: true });
    await uploads.giveBack(upload, { key: upload.purpose!.key, note }, expiresAt);
  }

  return {
    /**
     * Gives what came to `use`, to one call at a time, and deletes it afterwards unless it was kept. Null where
     * nothing came.
     */
    async taking<T>(caller: Caller, errand: Errand, use: (came: Came) => Promise<T>): Promise<T | null> {
      const arrival = await claimed(caller, errand);
      if (arrival === null) return null;
      const { upload, file } = arrival;
      await using object = await files.open(file);
      if (object === null) return null;
      let isKept = false;
      const read = () => object.read(0, object.size);
      try {
        return await use({ file, rung: noteOf(upload).rung, read, keep: () => void (isKept = true) });
      } finally {
        await (isKept ? keepStored(upload, file) : release(upload));
      }
    },

    /** Has what was kept asked for anew. The file itself stays, since somebody was told of it. */
    async forgetKept({ user }: Caller, errand: Errand): Promise<void> {
      for (const upload of await uploads.arrivedFor(user, purposeOf(errand)))
        if (noteOf(upload).isKept) await uploads.claim(upload);
    },
  };
}
