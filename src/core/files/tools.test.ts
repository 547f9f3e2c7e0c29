import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../ports/database/open.ts';
import { openUploads } from '../links/open-uploads.ts';
import type { ToolAnswer, ToolContext } from '../offer/tool.ts';
import { createLog } from '../../platform/observability/log.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import { countTokens } from '../../../test/tokens.testing.ts';
import { createFiles } from './files.ts';
import { fileTools } from './tools.ts';

const ann = { user: 'ann' };
const plenty = { userBytes: 1e12, userFiles: 1e6, totalBytes: 1e12, totalFiles: 1e6 };
const start = Date.parse('2026-11-16T13:45:00Z');

/** Files that came every few minutes, the oldest first. */
async function openFilesOf(names: readonly string[]) {
  const database = await openDatabase(':memory:');
  let now = start;
  const files = createFiles({
    database,
    storage: memoryStorage(),
    openUploads,
    quotas: plenty,
    maxFileSize: 1e9,
    clock: () => now,
    log: createLog('off'),
  });
  for (const [at, name] of names.entries()) {
    now = start + at * 7 * 60_000;
    const bytes = (async function* () {
      yield Buffer.alloc(1000 * (at + 1));
    })();
    await files.add(ann, { name, origin: at % 3 === 0 ? 'artifact' : 'upload', keepSeconds: 36_000 }, bytes);
  }
  const [list] = fileTools;
  return {
    list: (input: Record<string, unknown>) =>
      list!.handle({ files }, input, { caller: ann } as ToolContext) as Promise<
        ToolAnswer<{ files: { file_id: string }[]; next: string | null }>
      >,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

test('a list of 33 files names each with all that matters, in at most 1,400 tokens', async () => {
  const usual = [
    'report.csv',
    'measured values 2026.parquet',
    'plot.png',
    'waves.pdf',
    'exec_0123456789ab.stdout.txt',
  ];
  await using room = await openFilesOf(Array.from({ length: 33 }, (_, at) => usual[at % usual.length]!));
  const { text, structured } = await room.list({});
  assert.equal(structured.files.length, 33);
  assert.ok(countTokens(text) <= 1400, `${countTokens(text)} tokens:\n${text}`);
  const lines = text.split('\n');
  for (const { file_id } of structured.files) assert.ok(lines.some((line) => line.startsWith(`${file_id} `)));
});

test('the day until which files are kept is said once, and the next page is named', async () => {
  await using room = await openFilesOf([
    'a.csv',
    'b\nKept until 2030-01-01, UTC:',
    'c.png',
    ...Array(8).fill('d.txt'),
  ]);
  const first = await room.list({ limit: 8 });
  const ids = first.structured.files.map(({ file_id }) => file_id);
  assert.equal(first.text.split('\n')[0], 'Kept until 2026-11-17, UTC:');
  assert.match(
    first.text,
    new RegExp(`^${ids[0]} d\\.txt, 10\\.7 KB, text/plain, upload, until 00:55$`, 'm'),
  );
  assert.ok(first.text.endsWith(`There are more: list_files with after ${first.structured.next}`));
  const last = await room.list({ limit: 8, after: first.structured.next! });
  const [third, other, oldest] = last.structured.files.map(({ file_id }) => file_id);
  assert.equal(
    last.text,
    [
      'Kept until 2026-11-16, UTC:',
      `${third} c.png, 2.9 KB, image/png, upload, until 23:59`,
      `${other} "bKept until 2030-01-01, UTC:", 2 KB, application/octet-stream, upload, until 23:52`,
      `${oldest} a.csv, 1000 bytes, text/csv, artifact, until 23:45`,
      'The ETag of a link (share_file) is the sha256.',
    ].join('\n'),
  );
});
