import { WorkcrateError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { downloadHeaders } from './download-headers.ts';
import type { Asked, Handed } from './hand-over.ts';

/** What a proxy adds to the requests that it passes on, to say that it knows X-Accel-Redirect. */
const offer = 'x-sendfile-type';

/** Has nginx send the file: it finds it in an internal location, and serves ranges of it itself. */
export function createAccel(storage: Storage, prefix: string) {
  if (storage.localPath === undefined) throw needsDisk();
  const place = `/${prefix.replaceAll(/^\/+|\/+$/g, '')}/`.replace('//', '/');
  return async ({ headers, download, plan }: Asked): Promise<Handed | null> => {
    const { storageKey: key } = download;
    if (key === null) return null;
    // Whoever came past the proxy would be left with an empty answer.
    if (headers[offer] !== 'X-Accel-Redirect') return null;
    // Of a Range that is to be ignored, nginx has other ideas.
    if (headers.range !== undefined && plan.status === 200) return null;
    // nginx says itself that it takes ranges; said by both, it would stand there twice.
    const { 'Accept-Ranges': _ranges, ...own } = downloadHeaders(download);
    const to = { 'Content-Length': 0, 'X-Accel-Redirect': `${place}${storage.localPath!(key)}` };
    return { status: 200, headers: { ...own, ...to } };
  };
}

function needsDisk(): WorkcrateError {
  return new WorkcrateError(
    'config_invalid',
    '--downloads accel needs --storage disk, since nginx reads the files. Choose --downloads stream.',
  );
}
