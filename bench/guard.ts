/**
 * What the guard adds to a call: the same calls to two servers in turns, one without a guard and one with all shipped
 * rules, as a difference of medians; and how long the rules alone take for code and output of some sizes, in the thread
 * that judges: `node bench/guard.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard } from '../src/features/guard/guard.ts';
import { loadRules } from '../src/features/guard/rule-file.ts';
import { createLog } from '../src/platform/observability/log.ts';
import { startProgram, temporaryFolder } from './program.ts';
import { median, timed } from './timed.ts';
import { reportFigure, toDifferences } from './figures.ts';

const [rounds, callsEach] = [10, 20];

const calls: Readonly<Record<string, [tool: string, input: Record<string, unknown>]>> = {
  'a run of Bash': ['execute_bash', { command: 'echo hello' }],
  'a run of Python': ['execute_code', { language: 'python', code: 'print("hello")' }],
  request_upload: ['request_upload', { filename: 'a.txt' }],
  list_files: ['list_files', {}],
};

await compareServers();
await measureRules();

async function compareServers(): Promise<void> {
  using plainFolder = temporaryFolder();
  using guardedFolder = temporaryFolder();
  await using plain = await startProgram({ data: plainFolder.path });
  await using guarded = await startProgram({ data: guardedFolder.path, flags: ['--guard', 'shipped'] });
  const servers = { plain, guarded };
  for (const [name, [tool, input]] of Object.entries(calls)) {
    const taken: Record<keyof typeof servers, number[]> = { plain: [], guarded: [] };
    for (let round = 0; round < rounds; round++)
      for (const which of ['plain', 'guarded'] as const) {
        const call = async (): Promise<void> => void (await servers[which].call(tool, input));
        taken[which].push(...(await timed(call, callsEach)));
      }
    const [without, withGuard] = [median(taken.plain), median(taken.guarded)];
    reportFigure(`guard: ${name}, ms more`, toDifferences(taken.guarded, taken.plain));
    console.log(
      `${name}: ${without.toFixed(2)} ms without, ${withGuard.toFixed(2)} ms with the guard: ` +
        `${(withGuard - without).toFixed(2)} ms more`,
    );
  }
}

async function measureRules(): Promise<void> {
  const { rules } = loadRules('shipped');
  await using guard = createGuard({ rules, judge: null, audit: { note: () => {} }, log: createLog('off') });
  const call = { tool: { name: 'execute_code', isSensitive: true }, user: 'bench', client: null };
  const source = readFileSync(join(import.meta.dirname, '../src/core/runs/execute.ts'), 'utf8');
  for (const [size, count] of [
    [1000, 200],
    [10_000, 100],
    [100_000, 20],
    [1_000_000, 5],
  ] as const) {
    const text = source.repeat(Math.ceil(size / source.length)).slice(0, size);
    const before = await timed(async () => {
      await guard.judge({ ...call, when: 'before', code: { language: 'node', text } });
    }, count);
    const after = await timed(async () => {
      await guard.judge({ ...call, when: 'after', outputs: [text] });
    }, count);
    console.log(
      `${rules.length} rules on ${size} bytes: ${median(before).toFixed(2)} ms before, ${median(after).toFixed(2)} ms after`,
    );
  }
}
