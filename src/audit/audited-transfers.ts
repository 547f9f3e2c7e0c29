import type { Uploads } from '../links/links.ts';
import type { Audit } from './audit.ts';

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
