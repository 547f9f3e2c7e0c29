import { globSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/**
 * Runs the tests and ends with `N passed, N failed, N skipped`. The behaviour suite runs once more for each
 * further pair of backends. A skip without a printed reason counts as a failure.
 *
 *   npm test                      everything
 *   npm test -- e2e/behaviour     only files whose path holds one of the words
 */
interface Round {
  readonly title: string;
  readonly files: string[];
  readonly env: Record<string, string>;
}

const words = process.argv.slice(2);
const chosen = (pattern: string): string[] =>
  globSync(pattern)
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .sort();

const rounds: Round[] = [
  { title: 'everything, on SQLite and disk', files: chosen('{src,e2e,examples}/**/*.test.ts'), env: {} },
  {
    title: 'behaviour, on PostgreSQL and disk',
    files: chosen('e2e/behaviour/*.test.ts'),
    env: { WORKCRATE_TEST_DATABASE: 'postgres' },
  },
  {
    title: 'behaviour, on SQLite and memory',
    files: chosen('e2e/behaviour/*.test.ts'),
    env: { WORKCRATE_TEST_STORAGE: 'memory' },
  },
];

const counts = { passed: 0, failed: 0, skipped: 0 };

for (const round of rounds) {
  if (round.files.length === 0) continue;
  process.stdout.write(`\n${round.title}: ${round.files.length} files\n`);
  await runRound(round);
}

process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;

async function runRound({ files, env }: Round): Promise<void> {
  const stream = run({
    files,
    concurrency: 2,
    timeout: 240_000,
    env: { ...process.env, ...env } as Record<string, string>,
  });
  stream.on('test:pass', ({ skip, details, name }) => {
    if (details.type === 'suite') return;
    if (skip === undefined) counts.passed++;
    else countSkip(name, skip);
  });
  stream.on('test:fail', ({ details }) => {
    if (details.type !== 'suite') counts.failed++;
  });
  for await (const chunk of stream.compose(spec)) process.stdout.write(chunk as string);
}

function countSkip(name: string, reason: string | boolean): void {
  if (typeof reason === 'string' && reason !== '') return void counts.skipped++;
  process.stdout.write(`skipped without a reason: ${name}\n`);
  counts.failed++;
}
