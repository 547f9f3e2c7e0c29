import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashLinkToken, toPublicId } from '../links/link.ts';
import type { Uploads } from '../links/links.ts';
import type { Audit, AuditEvent } from './audit.ts';
import { auditUploads } from './transfers.ts';

test('an upload that was made a file only when it was looked at is told once', async () => {
  const events: AuditEvent[] = [];
  const upload = { fileId: null as string | null };
  const uploads = auditUploads(
    {
      find: async () => ({ ...upload }),
      readState: async () => ({ upload: Object.assign(upload, { fileId: 'file_1' }), offset: 5 }),
      file: async () => ({ id: 'file_1', owner: 'ada', name: 'late.txt', size: 5 }),
    } as unknown as Uploads,
    { note: (event) => void events.push(event), synced: async () => {} } as Audit,
  );
  for (let looks = 0; looks < 2; looks++) await uploads.readState('token');
  assert.deepEqual(
    events.map(({ user, subject, result, details }) => [user, subject, result, details]),
    [['ada', 'late.txt', 'ok', { link: toPublicId(hashLinkToken('token')), file_id: 'file_1', bytes: 5 }]],
  );
});
