import { appendFileSync } from 'node:fs';
import { getTestContext } from 'node:test';

/**
 * The rows of the specification that are built, each split into the parts that tests prove. A test says at its end what
 * it has proven: `recordProof('B8:one-byte-more-is-refused')`. `npm test` fails while a part has no proof that was
 * reached, so a test that is skipped, or fails before, proves nothing (`scripts/proofs.ts`).
 */
export const requirements = {
  A1: ['regular-files-sorted-by-name', 'hard-links-listed', 'nothing-else-listed', 'any-number-in-pages'],
  A2: ['empty-or-missing-gives-none'],
  A3: ['failed-listing-in-its-words', 'failed-size-in-its-words', 'failed-read-in-its-words', 'status-500'],
  A4: ['bytes-exact', 'base64-without-line-breaks'],
  A5: ['slash-and-backslash-refused', 'leading-dot-refused', 'status-400'],
  A6: ['missing-is-404', 'link-folder-device-not-found'],
  A7: [
    'exact-limit-and-empty-given',
    'one-byte-more-refused-in-its-words',
    'default-and-environment-name',
    'checked-before-a-byte-is-read',
    'checked-on-the-open-file',
  ],
  A8: ['list-shape', 'artifact-shape', 'status-by-error-code'],
  A9: ['every-name-works', 'shell-characters-are-text'],
  A10: ['no-byte-by-name', 'no-byte-by-link', 'no-byte-by-path', 'no-byte-by-guess', 'no-byte-by-code'],
  A11: [
    'workspace-persists',
    'timeout-of-execute-bash',
    'tools-and-skills-read-only',
    'tools-and-skills-settings',
    'tools-and-skills-defaults',
    'image-setting',
    'image-default',
    'subprocess-tells-the-real-folders',
  ],
  A13: ['list-logged-with-user', 'get-logged-with-user', 'errors-at-level-error'],
  B1: [
    'folder-source',
    's3-source',
    'azure-source',
    'sources-by-url',
    'sources-setting',
    'zips-and-folders',
    'with-or-without-a-top-folder',
    'both-metadata-names',
  ],
  B2: [
    'stable-crate-id',
    'unchanged-is-not-read-again',
    'removed-leaves-the-index',
    'broken-is-reported-and-stops-no-other',
  ],
  B3: [
    'all-text-fields-searched',
    'ranked',
    'phrase-prefix-and-field',
    'hostile-text-is-no-error',
    'other-field-filters-refused',
    'limit-and-offset',
  ],
  B4: [
    'same-ranking-every-time',
    'lsa-same-on-every-machine',
    'hash-same-everywhere',
    'endpoint-is-asked',
    'lsa-is-the-default',
  ],
  B5: ['stable-shape', 'iso-dates-and-json', 'unknown-is-not-found'],
  B6: ['listing-shape', 'paged', 'safe-posix-paths', 'read-by-ranges', 'link-to-the-whole-list-in-the-text'],
  B7: ['small-text-inline-else-link', 'absent-is-not-found', 'sizes-and-crc-agree', 'limit-while-inflating'],
  B8: [
    'link-by-default',
    'base64-shape',
    'exact-limit-is-given',
    'one-byte-more-is-refused',
    'refusal-offers-the-link',
    'default-of-50',
    'environment-name',
    'folder-as-zip-by-link',
  ],
  B9: [
    'by-type-property-and-value',
    'path-walks-references',
    'exact-by-default-and-parts-else',
    'entry-field-and-value',
    'paging-is-stable',
  ],
  B10: ['searchable-fields-listed', 'progress-heard-by-a-client', 'status-of-the-index'],
  B11: [
    'unknown-crate',
    'source-not-reachable',
    'object-gone',
    'not-a-zip',
    'encrypted',
    'truncated',
    'too-large',
  ],
  B12: ['run-packed-with-provenance', 'valid-process-run-crate', 'files-packed', 'found-and-fetched-again'],
  C1: [
    'one-shape-over-all-tools',
    'size-time-and-curl-in-the-text',
    'at-most-100-tokens',
    'same-as-resource-link',
    'no-bytes-unless-asked-for',
    'structured-content-only-on-request',
  ],
  C2: ['token-of-32-random-bytes', 'only-its-hash-is-stored', 'in-no-log'],
  C3: [
    'headers-and-head',
    'any-name-in-content-disposition',
    'ranges',
    'if-range',
    'nothing-is-buffered-whole',
  ],
  C4: ['unknown-and-revoked-are-404', 'expired-is-404', 'bytes-gone-is-410'],
  C5: [
    'default-and-environment-name-of-the-ttl',
    'judged-at-access',
    'sweep-every-300-s',
    'sweep-deletes-links-and-bytes',
    'sweep-logs-the-count',
    'sweep-survives-errors-of-any-part',
    'sweep-stops-on-shutdown',
    'links-and-files-survive-a-restart',
  ],
  C6: [
    'one-complete-download',
    'exactly-one-under-concurrency',
    'broken-transfer-is-resumed',
    'half-a-transfer-does-not-use-it-up',
  ],
  C7: ['bytes-per-user-and-in-all', 'files-per-user-and-in-all', 'clear-error', 'nothing-half-written-stays'],
  C8: [
    'link-host-and-port',
    'localhost-for-a-wildcard',
    'else-the-listening-host-and-port',
    'public-url-overrides',
    'files-dir',
    'defaults',
  ],
  C9: [
    'one-zip-of-known-length',
    'streamed',
    'no-temp-file',
    'downloads-bytes-and-last-use-told',
    'only-every-byte-is-complete',
    'webhook-of-a-download',
    'webhook-of-an-export',
  ],
  C10: [
    'upload-url-for-one-put',
    'answer-of-the-put',
    'bytes-pass-the-context',
    'size-and-sha256-checked',
    'resumable',
    'share-file',
    'bundle-files',
  ],
  C11: ['answer-shape', 'every-format', 'citations-by-csl', 'one-failure-names-itself'],
  C12: [
    'only-the-npm-packages',
    'pandoc-on-path-when-asked',
    'reads-no-file-of-the-server',
    'fetches-no-url',
    'runs-no-filter',
    'does-not-outlive-its-timeout',
  ],
  C13: [
    'bibtex',
    'biblatex',
    'csl-json',
    'ris',
    'keys-without-an-entry',
    'zotero-web-api',
    'zotero-on-this-machine',
  ],
  D1: ['runs-python', 'runs-node', 'runs-bash', 'stdin', 'working-dir', 'timeout', 'bad-input-runs-nothing'],
  D2: ['result-fields', 'exit-code-and-signal'],
  D3: ['directory-of-its-own', 'no-script-left', 'shared-working-dir-without-collision'],
  D4: [
    'default-and-most-time',
    'clamped',
    'sigterm-grace-sigkill',
    'whole-tree-dies',
    'call-returns-after-the-kill',
  ],
  D5: ['six-names-only', 'home-of-the-sandbox'],
  D6: [
    'folders-of-the-sandbox',
    'protected-folders-refused',
    'links-and-tilde-resolved',
    'etcetera-is-not-etc',
    'refusal-says-what-is-allowed',
  ],
  D7: [
    'bounded-while-read',
    'default-bounds',
    'three-settings',
    'truncation-note',
    'whole-by-link',
    'no-broken-utf8',
  ],
  D8: ['recursive-difference', 'by-size-mtime-and-inode', 'bounded'],
  D9: ['line-of-the-day', 'row-found-by-search-and-get', 'retention-of-rows', 'retention-of-lines'],
  D10: ['hints', 'output-as-progress', 'sign-of-life-every-10-s', 'cancelling-kills'],
  D14: [
    'subprocess-only-if-allowed-by-name',
    'subprocess-warned-at-every-start',
    'bubblewrap-is-the-default',
    'docker-by-name',
    'memory-limit-in-bubblewrap',
    'process-limit-in-bubblewrap',
    'cpu-limit-in-bubblewrap',
    'file-size-limit-in-bubblewrap',
    'disk-limit-in-bubblewrap',
    'network-limit-in-bubblewrap',
    'memory-limit-in-docker',
    'process-limit-in-docker',
    'cpu-limit-in-docker',
    'file-size-limit-in-docker',
    'disk-limit-in-docker',
    'network-limit-in-docker',
  ],
  D15: [
    'no-host-home-or-other-users',
    'no-data-of-the-server',
    'no-network',
    'no-host-processes',
    'cannot-outlive-its-run',
    'attacks-are-stopped',
  ],
  D16: ['manifest', 'started-by-the-manifest', 'names-fit-behind-the-prefix'],
  E1: [
    'name-type-size-and-mtime',
    'recursion-as-a-tree',
    'pattern-on-the-clients-side',
    'answer-checked-again',
  ],
  E2: ['path-judged-before-anything-is-asked', 'base64-decoded', 'encoding-falls-back-and-is-told'],
  E3: [
    'default-folders',
    'setting-replaces-them',
    'per-project-root',
    'refusal-names-the-setting',
    'missing-one-is-warned-of-at-the-start',
    'kept-absolute',
    'docs-secret-is-not-docs',
  ],
  E4: [
    'dot-dot-inside-resolved',
    'hostile-forms-never-lead-outside',
    'links-judged-and-loops-refused',
    'no-case-folding',
    'leaving-the-root-is-a-violation',
    'not-allowed-inside-is-a-mistake',
  ],
  E5: [
    'keyed-by-path-with-its-facts',
    'hit-miss-and-eviction-counted',
    'newer-mtime-invalidates',
    'what-an-agent-sent-answers-one-call',
    'age-that-a-call-allows',
    'what-a-person-gave-for-an-hour',
    'answer-says-since-when-and-how-to-refresh',
    'least-recently-used-goes-first',
  ],
  E6: [
    'not-found',
    'permission-denied',
    'timeout-drops-partial-results',
    'unsupported-client',
    'none-is-cached',
  ],
  E7: ['told-what-it-can-do-instead'],
  E8: [
    'line-with-operation-path-time-result-client',
    'every-operation',
    'violation-with-kind-stack-and-repeats',
    'successes-at-trace',
    'attempted-path-of-a-violation',
  ],
  E9: ['one-file-or-several', 'whole-batch-or-nothing', 'statistics-returned'],
  E10: [
    '2025-06-18-over-stdio',
    '2025-06-18-over-http',
    '2025-11-25-over-stdio',
    '2025-11-25-over-http',
    '2026-07-28-over-stdio',
    '2026-07-28-over-http',
    'whichever-way-the-client-offers',
  ],
  G3: [
    'files-as-resources',
    'artifacts-as-resources',
    'executions-as-resources',
    'crates-as-resources',
    'templates-with-completion',
    'prompts-with-completion',
    'prompts-name-only-tools-that-are-there',
    'newest-first-in-pages',
    'few-bytes-into-a-conversation',
    'every-name-works',
    'only-ones-own',
    'scopes-apply',
    'audited-counted-and-logged',
    'unknown-uris-are-an-error-of-the-protocol',
    'both-eras-over-http-and-stdio',
    'conformance-without-fixtures',
    'a-call-of-a-tool-does-not-pay',
  ],
  G4: [
    'npx-on-older-node',
    'old-node-answers-the-handshake',
    'registry-server-json',
    'mcpb',
    'plugin',
    'deep-links',
    'docker-image',
  ],
  G5: ['inspector', 'sdk-v1', 'claude-code', 'codex', 'gemini-cli', 'opencode'],
} as const satisfies Record<string, readonly string[]>;

type Row = keyof typeof requirements;

export type Part = { [R in Row]: `${R}:${(typeof requirements)[R][number]}` }[Row];

/** Every part of every row. */
export const parts = Object.entries(requirements).flatMap(([row, names]) =>
  names.map((name) => `${row}:${name}` as Part),
);

/** Where the runner collects proofs; unset where a file is run by itself. */
export const proofsVariable = 'WORKCRATE_TEST_PROOFS';

/** Says that the test that calls it has proven these parts. It is the last thing that a test does. */
export function recordProof(...proven: readonly [Part, ...Part[]]): void {
  if (getTestContext() === undefined) throw new Error('A proof is recorded by a test.');
  const file = process.env[proofsVariable];
  if (file !== undefined) appendFileSync(file, `${proven.join('\n')}\n`);
}

const clients = 'the clients of e2e/clients, which npm installs on first use';
const docker = 'a Docker engine that the tests can start (docker.io, as root)';

/** What a part needs that a machine may lack. Where it is not proven for that, it is told, and counts as skipped. */
export const needs: Partial<Record<Part, string>> = {
  'A11:image-setting': docker,
  'B1:s3-source': 'an S3 store that the tests can start (ceph)',
  'D14:docker-by-name': docker,
  'D14:memory-limit-in-docker': docker,
  'D14:process-limit-in-docker': docker,
  'D14:cpu-limit-in-docker': docker,
  'D14:file-size-limit-in-docker': docker,
  'D14:disk-limit-in-docker': docker,
  'D14:network-limit-in-docker': docker,
  'G4:docker-image': docker,
  'G5:inspector': clients,
  'G5:sdk-v1': clients,
  'G5:claude-code': clients,
  'G5:codex': clients,
  'G5:gemini-cli': clients,
  'G5:opencode': clients,
};

/** Of rows that are built, what has not been asked for yet. */
export const partsNotYetAskedFor: Partial<Record<Row, readonly string[]>> = {
  B3: ['ranking-as-good-as-fts5', 'unrelated-crates-are-not-found-by-meaning'],
  B6: ['10,000-a-page-with-total-and-next'],
  B8: ['base64-of-a-crate-that-is-a-folder'],
  B10: ['sync-joins-one-that-is-under-way', 'search-while-indexing-says-so'],
  D1: ['session-id'],
  D9: ['peak-memory-session-guard-verdicts-and-trace-id-in-the-line'],
  D16: ['exposed-by-the-gateway-of-f3'],
};

/** The rows that have not been asked for yet. */
export const rowsNotYetAskedFor =
  'A12 B13 B14 C14 D11 D12 D13 D17 D18 D19 D20 D21 F1 F2 F3 F4 F5 F6 F7 G1 G2 H1 H2 H3 H4'.split(' ');
