import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { countTokens } from '../../../test/tokens.testing.ts';
import { toLinkAnswer } from './link-result.ts';
import type { SharedLink } from './links.ts';

const names = [
  'a.txt',
  'Messwerte Zürich, Juni 2026 (final).csv',
  '🧪'.repeat(60),
  '👨‍👩‍👧‍👦'.repeat(20),
  `${'"'.repeat(50)}.csv`,
  'ü'.repeat(120),
  '日'.repeat(80),
  'ﷺ'.repeat(60),
  'a\u0301'.repeat(100),
  'a'.repeat(250),
  'qzXkW9vT'.repeat(4),
  '0a1b2c3d'.repeat(4),
  'a-study-of-random-walks-in-many-dimensions-with-absorbing-wa-exec_0a1b2c3d4e5f.zip',
];

/** Tokens cost more and less, and these are the same in every run of this test. */
const secrets = Array.from({ length: 20 }, (_, n) =>
  createHash('sha256').update(String(n)).digest('base64url'),
);

for (const endsWithClient of [false, true])
  for (const singleUse of [false, true])
    it(`a link ${endsWithClient ? 'over stdio' : 'over HTTP'}, ${singleUse ? 'for one download' : 'for any number'}, costs at most 100 tokens for any name`, () => {
      for (const filename of names)
        for (const token of secrets) {
          const expiresAt = Date.parse('2026-11-19T06:24:59Z');
          const shared = {
            token,
            endsWithClient,
            link: { createdAt: expiresAt - 59_000, expiresAt, singleUse },
            download: { filename, size: 12_345, sha256: null, mediaType: 'text/plain' },
          } as SharedLink<null>;
          const { text } = toLinkAnswer(shared, 'http://127.0.0.1:42533');
          assert.equal(/or this client ends: /.test(text), endsWithClient);
          assert.ok(countTokens(text) <= 100, `${countTokens(text)}: ${text}`);
        }
      recordProof('C1:at-most-100-tokens');
    });
