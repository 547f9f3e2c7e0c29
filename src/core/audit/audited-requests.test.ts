import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkcrateError } from '../../platform/errors.ts';
import { createToken } from '../links/link.ts';
import { linesOf, open, temporaryLog } from './log.testing.ts';
import { auditRequests } from './wrappers.ts';

test('a request that broke off is cancelled, one that failed says how, and facts are told of both', async () => {
  using folder = temporaryLog();
  const asked = { operation: 'get_artifact', user: 'ada', subject: 'plot.png' };
  {
    await using audit = open(folder.path);
    const noted = auditRequests(audit);
    for (const signal of [AbortSignal.abort(), undefined])
      await assert.rejects(
        noted({ ...asked, signal }, async (tell) => {
          tell({ size: 7 });
          throw new WorkcrateError('artifact_failed', 'No.');
        }),
        { code: 'artifact_failed' },
      );
    assert.equal(await noted({ ...asked, user: null }, async () => 'done'), 'done');
  }
  assert.deepEqual(
    linesOf(folder.path)
      .slice(2)
      .map(({ level, user, result, details }) => [level, user, result, details]),
    [
      ['info', 'ada', 'cancelled', { via: 'http', size: 7 }],
      ['info', 'ada', 'artifact_failed', { via: 'http', size: 7 }],
      ['trace', '-', 'ok', { via: 'http' }],
    ],
  );
});

test('what was pasted is taken out, and names that only look odd stay as they are', async () => {
  using folder = temporaryLog();
  const [key, token] = [`wck_${createToken()}`, createToken()];
  const subjects: [string, string][] = [
    [`a ${key} b`, 'a wck_… b'],
    [`http://127.0.0.1:1/files/${token}?x`, 'http://127.0.0.1:1/files/…?x'],
    [`%2577${key.slice(1)}`, '%2577ck_…'],
    ['100%25.txt', '100%25.txt'],
  ];
  {
    await using audit = open(folder.path);
    const noted = auditRequests(audit);
    for (const [subject] of subjects)
      await noted({ operation: 'get_artifact', user: 'ada', subject }, async () => {});
  }
  assert.deepEqual(
    linesOf(folder.path)
      .slice(2)
      .map(({ subject }) => subject),
    subjects.map(([, shown]) => shown),
  );
});
