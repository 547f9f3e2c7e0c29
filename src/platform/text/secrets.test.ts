import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { hashLinkToken, createToken, toPublicId } from '../../core/links/link.ts';
import { createLog } from '../observability/log.ts';
import { withoutSecrets } from './secrets.ts';

/** As random as real ones, and the same ones each time. */
const tokens = fc.nat().map((number) => hash('sha256', `token ${number}`, 'base64url'));
const surroundings = fc.constantFrom(
  '',
  'docs/',
  '../',
  ' ',
  '?key=',
  'x',
  '/files/',
  'files/',
  'ü',
  '"',
  '.',
);

const encoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const encodings: readonly ((text: string) => string)[] = [
  (text) => text,
  encodeURIComponent,
  encoded,
  (text) => encodeURIComponent(encoded(text)),
  (text) => encodeURIComponent(encodeURIComponent(encoded(text))),
];

test('no token and no key is left in a text, wherever it stands and however it is encoded', () => {
  const prefix = fc.constantFrom('', 'wck_', 'WCK_', 'a-name-that-goes-on-for-long-before-it-');
  fc.assert(
    fc.property(
      surroundings,
      prefix,
      tokens,
      surroundings,
      fc.constantFrom(...encodings),
      (a, mark, token, b, encode) => {
        const shown = withoutSecrets(encode(`${a}${mark}${token}${b}`));
        assert.ok(!shown.includes(token.slice(9)) && !shown.includes(encoded(token.slice(9))), shown);
        assert.ok(shown.includes('…'), shown);
      },
    ),
    { numRuns: 2000, seed: 8 },
  );
});

test('names made of words, and ids and hashes, stay as they are', () => {
  const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
  const lower = fc.stringMatching(/^[a-z]{3,12}$/);
  const title = lower.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const upper = lower.map((word) => word.toUpperCase());
  const word = fc.oneof(lower, title, upper, fc.nat({ max: 20_261_115 }).map(String), hex(64));
  const joined = fc
    .tuple(
      fc.array(word, { minLength: 1, maxLength: 20 }),
      fc.constantFrom('-', '_', '--', ' ', '.', '/', '%20'),
    )
    .map(([words, between]) => words.join(between));
  const camel = fc.array(title, { minLength: 1, maxLength: 12 }).map((words) => words.join(''));
  const id = fc.oneof(
    hex(16),
    hex(24).map((digits) => `file_${digits}`),
    hex(12).map((digits) => `exec_${digits}`),
    hex(24).map((digits) => `crate_${digits}`),
    hex(64).map((digits) => `sha256-${digits}`),
    fc.uuid(),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        joined,
        camel,
        id,
        fc.array(id).map((ids) => ids.join('_')),
      ),
      (name) => {
        assert.equal(withoutSecrets(name), name);
      },
    ),
    { numRuns: 2000 },
  );
  for (const name of [
    'sub-01_ses-02_task-rest_acq-AP_run-01_space-MNI152NLin2009cAsym_desc-preproc_bold.nii.gz',
    'Quarterly-Report-Of-The-Finance-Department-2026-v2-Final.docx',
    'docs/files/truck_measurements_of_the_whole_region_in_the_year_2026.csv',
    'uploads/quarterly-report-of-the-finance-department-2026.csv',
    '20261115T182011Z_measurement_of_the_big_station_A.csv',
    `100%25${'-of-it-all'.repeat(9)}.txt`,
  ])
    assert.equal(withoutSecrets(name), name);
});

test('a token is shown by its beginning and the name of its link; a JSON web token by nothing', () => {
  const token = createToken();
  assert.equal(
    withoutSecrets(`docs/${token}`),
    `docs/${token.slice(0, 8)}…${toPublicId(hashLinkToken(token))}`,
  );
  assert.equal(withoutSecrets(`docs/aaawck_${'k'.repeat(43)}`), 'docs/aaawck_…');
  const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.${token}`;
  assert.equal(withoutSecrets(`Bearer ${jwt} x`), 'Bearer eyJ… x');
});

test('a secret at the end of what is looked at is not left in part', () => {
  const token = createToken();
  for (const before of [65_500, 65_530, 65_536])
    assert.ok(!withoutSecrets(`${' '.repeat(before)}${token}`).includes(token.slice(0, 4)), `${before}`);
});

test('no line of the server log has a secret in it, not in messages of errors either', () => {
  const lines: string[] = [];
  const [token, key] = [createToken(), `wck_${createToken()}`];
  const log = createLog('debug', (line) => void lines.push(line));
  log.info('artifact.get', {
    name: token,
    nested: { tool: key },
    error: new Error(`No ${key}`, { cause: new Error(token) }),
  });
  assert.match(lines[0]!, /"tool":"wck_…".*"message":"No wck_…"/);
  assert.ok(!lines[0]!.includes(token) && !lines[0]!.includes(key.slice(12)));
});
