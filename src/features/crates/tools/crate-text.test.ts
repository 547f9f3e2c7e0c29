import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CrateFileListing } from '../contents/contents.ts';
import type { CrateSummary } from '../metadata/summary.ts';
import { describeCrate, describeCrateFiles } from './crate-text.ts';

const summary: CrateSummary = {
  crate_id: `crate_${'7a'.repeat(12)}`,
  title: 'Ice\nProblem: none',
  description: 'x'.repeat(3000),
  authors: Array.from({ length: 25 }, (_, at) => `Author ${at}`),
  keywords: [],
  license: null,
  date_published: null,
  year: null,
  identifiers: ['https://doi.org/10.1/x'],
  spec_version: null,
  profiles: ['https://w3id.org/ro/wfrun/process/0.4'],
  kind: 'zip',
  source: 'file:///data/',
  resource_locator: 'file:///data/ice.zip',
  size: 2048,
  last_modified: '2026-01-02T03:04:05.000Z',
  entity_count: 1,
  file_count: 2,
  bytes: null,
  types: [{ type: 'Dataset', count: 1 }],
  main_entity: { id: 'main.cwl', name: null, types: ['File', 'ComputationalWorkflow'] },
  issues: [{ code: 'type_missing', message: 'An entity has no @type.', count: 3 }],
  root_id: './',
  indexed_at: '2026-01-02T03:05:06.000Z',
};

test('every fact of a crate is a line, and its own text is quoted', () => {
  const lines = describeCrate(summary).split('\n');
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('Description') && !line.startsWith('Authors')),
    [
      `${summary.crate_id} "Ice Problem: none"`,
      'No date of publication, no licence stated, RO-Crate version not stated',
      'Identifiers: "https://doi.org/10.1/x"',
      'Profiles: "https://w3id.org/ro/wfrun/process/0.4"',
      '2 files; 1 entity: Dataset 1; root ./',
      'Main entity: "main.cwl", File, ComputationalWorkflow',
      'A zip of 2 KB, changed 2026-01-02T03:04Z, indexed 2026-01-02T03:05Z',
      'At file:///data/ice.zip',
      'Problem: type_missing (3): "An entity has no @type."',
      'Its files: list_crate_files. One file: read_crate_file. All of it: download_crate.',
    ],
  );
  assert.match(lines[1]!, /^Authors: "Author 0", .*"Author 19" and 5 more$/);
  assert.match(lines[3]!, /^Description: "x+…" \(1000 more characters are in its metadata file\)$/);
});

const listing = (paths: readonly string[], more: Partial<CrateFileListing> = {}): CrateFileListing => ({
  locator: 'file:///data/',
  total: paths.length,
  files: paths.map((path) => ({
    path,
    size: 7,
    compressedSize: 7,
    modified: null,
    problem: null,
    member: null,
  })),
  next: null,
  unsafe: 0,
  ...more,
});

test('files are listed a line each, and what is left out is counted', () => {
  const { text, isAll } = describeCrateFiles(listing(['a.txt', 'b\nc'], { unsafe: 1 }), 0);
  assert.equal(isAll, true);
  assert.equal(
    text,
    '2 files, each after its bytes:\n7 a.txt\n7 "b\\nc"\n1 entry not listed: their names lead outside the crate or are invalid',
  );
  assert.equal(describeCrateFiles(listing([]), 0).text, '0 files');
});

test('the next call goes on after the last file that the text shows, though the page has more', () => {
  const paths = Array.from({ length: 200 }, (_, at) => `${at}.csv`);
  const { text, isAll } = describeCrateFiles(listing(paths, { total: 300, next: 230 }), 30);
  assert.equal(isAll, false);
  assert.match(text, /^300 files, 31 to 80 shown[^]*\n7 49\.csv\nand 220 more: call again with offset 80$/);
  const long = describeCrateFiles(listing(paths.map((path) => 'x'.repeat(4000) + path)), 0).text;
  assert.ok(long.length < 20_000);
  assert.match(long, /^200 files, 1 to 3 shown[^]*\nand 197 more: call again with offset 3$/);
});
