import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { cpuVariable } from './count-cpu.ts';
import type { TestGroup } from './test-groups.ts';
import type { TestResults } from './test-results.ts';

/** What a round printed and how long its files took. That of the first comes as it is, that of others after it. */
export interface Report {
  readonly title: string;
  readonly verbose: boolean;
  readonly results: TestResults;
  readonly times: { group: string; seconds: number; cpuSeconds: number }[];
  print(text: string): void;
  end(): void;
}

export function openReport(
  { title, files, skip }: { title: string; files: readonly string[]; skip?: string | false },
  { isFirst, verbose, results }: { isFirst: boolean; verbose: boolean; results: TestResults },
): Report {
  if (skip) results.skipped++;
  const kept: string[] = [];
  const print = (text: string): void => void (isFirst ? process.stdout.write(text) : kept.push(text));
  print(`\n${title}: ${skip || `${files.length} files`}\n`);
  return {
    title,
    verbose,
    results,
    times: [],
    print,
    end: () => void process.stdout.write(kept.join('')),
  };
}

interface Surroundings {
  readonly env: Record<string, string>;
  /** For what the processes of tests leave behind. */
  readonly folder: string;
  readonly report: Report;
}

let begun = 0;

/** Runs the files of a group in a process, and counts and prints what came of them. */
export async function runGroup(group: TestGroup, { env, folder, report }: Surroundings): Promise<void> {
  const from = performance.now();
  const cpuFile = join(folder, `cpu-${++begun}`);
  const { results } = report;
  const skips: string[] = [];
  const stream = run({
    files: [group.main],
    argv: [...group.argv],
    timeout: 480_000,
    execArgv: ['--import', join(import.meta.dirname, 'count-cpu.ts')],
    env: { ...env, [cpuVariable]: cpuFile },
  });
  let [passed, failed] = [0, 0];
  stream.on('test:pass', ({ skip, details, name }) => {
    if (details.type === 'suite') return;
    if (skip === undefined) passed++;
    else if (typeof skip === 'string' && skip !== '') skips.push(`  skipped: ${name}: ${skip}\n`);
    else {
      failed++;
      results.failures.push(`  skipped without a reason: ${group.title}: ${name}`);
    }
  });
  stream.on('test:fail', ({ details, name, file = group.title }) => {
    if (details.type === 'suite') return;
    failed++;
    const reason = inspect(details.error.cause ?? details.error).slice(0, 1000);
    results.failures.push(
      `  ${report.title}: ${relative('.', file)}: ${name}\n${reason.replaceAll(/^/gm, '    ')}`,
    );
  });
  const printed: string[] = [];
  for await (const chunk of stream.compose(leaveOutCounts).compose(spec)) printed.push(chunk as string);
  results.passed += passed;
  results.failed += failed;
  results.skipped += skips.length;
  const seconds = (performance.now() - from) / 1000;
  const cpuSeconds = existsSync(cpuFile) ? Number(readFileSync(cpuFile, 'utf8')) : 0;
  report.times.push({ group: group.title, seconds, cpuSeconds });
  const counts = `${passed} passed${failed > 0 ? `, ${failed} FAILED` : ''}${skips.length > 0 ? `, ${skips.length} skipped` : ''}`;
  const took = `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processors`;
  report.print(`${group.title}: ${counts} in ${took}\n`);
  report.print(report.verbose || failed > 0 ? `${printed.join('')}\n` : skips.join(''));
}

/** The counts of each file say nothing beside those of all. */
async function* leaveOutCounts(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events)
    if (event.type !== 'test:diagnostic' || event.data.nesting > 0) yield event;
}
