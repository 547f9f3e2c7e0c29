import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestPart } from './test-parts.ts';

/** What came of the tests of a part. */
export interface TestResults {
  passed: number;
  failed: number;
  skipped: number;
  /** Each with its reason, told again at the very end. */
  readonly failures: string[];
}

/** A folder where each part leaves its results and proofs, so that a later one can go on from them. */
export const recordVariable = 'WORKCRATE_TEST_RECORD';

/** The parts that `.ci/run` runs one after the other, and that prove all requirements together. */
export const provingParts = ['usual', 'rest'] as const satisfies readonly TestPart[];

const resultsFile = (folder: string, part: TestPart): string => join(folder, `${part}.json`);

export const proofsFile = (folder: string, part: TestPart): string => join(folder, `${part}.proofs`);

export const emptyResults = (): TestResults => ({ passed: 0, failed: 0, skipped: 0, failures: [] });

export function writeResults(folder: string, part: TestPart, results: TestResults): void {
  writeFileSync(resultsFile(folder, part), JSON.stringify(results));
}

/** Null where that part has not come to its end. */
export function readResults(folder: string, part: TestPart): TestResults | null {
  const file = resultsFile(folder, part);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TestResults) : null;
}

/** Of all parts together. One that has not come to its end counts as a failure. */
export function sumResults(folder: string): TestResults {
  const sum = emptyResults();
  for (const part of provingParts) {
    const results = readResults(folder, part);
    sum.passed += results?.passed ?? 0;
    sum.failed += results?.failed ?? 1;
    sum.skipped += results?.skipped ?? 0;
    sum.failures.push(...(results?.failures ?? [`  the ${part} part did not come to its end`]));
  }
  return sum;
}

/** The failures, and the counts as the last line. */
export function describeResults({ passed, failed, skipped, failures }: TestResults): string {
  const told = failures.length > 0 ? `\nfailed:\n${failures.join('\n')}\n` : '';
  return `${told}\n${passed} passed, ${failed} failed, ${skipped} skipped\n`;
}
