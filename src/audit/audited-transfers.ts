import type { Uploads, Webhook } from '../links/links.ts';
import type { Audit } from './audit.ts';

type Completed = Webhook['completed'];

/** The same call at the end of a download, with a line for it. Whoever fetches is known by the link alone. */
export function auditedDownloads(completed: Completed, audit: Audit): Completed {
  return async (link, download) => {
    const { id, owner } = link;
    const { filename, size } = download;
    audit.note({
      level: 'trace',
      operation: 'download',
      user: owner,
      client: null,
      subject: filename,
      result: 'ok',
      details: { link: id, bytes: size },
    });
    await completed(link, download);
  };
}

/** The same rights to send, with a line for every file that has come. */
export function auditedUploads(uploads: Uploads, audit: Audit): Uploads {
  return {
    ...uploads,
    async write(...terms) {
      const received = await uploads.write(...terms);
      if (received.file)
        audit.note({
          level: 'trace',
          operation: 'upload',
          user: received.file.owner,
          client: null,
          subject: received.file.name,
          result: 'ok',
          details: { file_id: received.file.id, bytes: received.file.size },
        });
      return received;
    },
  };
}
