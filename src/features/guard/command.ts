import { WorkcrateError } from '../../platform/errors.ts';
import { testRules, type ExampleFault, type TestedRules } from './examples.ts';
import { createGuard, type Verdict } from './guard.ts';
import { loadRules } from './rule-file.ts';
import { createLog } from '../../platform/observability/log.ts';
import { languages } from '../../ports/sandbox/sandbox.ts';
import { programName } from '../../platform/program.ts';
import { collectText } from '../../platform/streams.ts';
import { escapeControls, formatBytes, toPlainJson } from '../../platform/text/text.ts';
import type { CommandInput, Finding, KnownConfig } from '../../core/command.ts';
import type { guardSettings } from './settings.ts';
import { usageError } from '../../platform/command-line/usage-error.ts';

type GuardConfig = KnownConfig<typeof guardSettings>;
type GuardInput = CommandInput<GuardConfig>;

/** `workcrate guard test|check FILE`: tries rules without a server. */
export async function runGuard(input: GuardInput): Promise<number> {
  const [subcommand, file] = input.words as ['test' | 'check', string];
  return subcommand === 'test' ? testFile(file, input) : checkInput(file, input);
}

async function testFile(file: string, { flags }: GuardInput): Promise<number> {
  const { rules } = loadRules(file);
  const tested = await testRules(rules, createLog('off'));
  const { faults } = tested;
  process.stdout.write(
    flags['json'] === undefined
      ? `${describeTest(rules.length, tested)}\n`
      : `${JSON.stringify({ rules: rules.length, ...tested }, null, 2)}\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

function describeTest(rules: number, { examples, faults, untested }: TestedRules): string {
  return [
    ...faults.map(describeFault),
    ...(untested.length === 0
      ? []
      : [
          `Without an example and a counterexample: ${untested.join(', ')}. Add both, so that they can be tried.`,
        ]),
    faults.length === 0
      ? `${rules} rules: all ${examples} examples come out`
      : `${rules} rules: ${faults.length} of ${examples} examples do not come out`,
  ].join('\n');
}

const faultWords = {
  missed: 'does not find its example',
  wrong: 'finds its counterexample',
  failed: 'cannot be tried on',
} as const;

const describeFault = ({ rule, kind, example, why }: ExampleFault): string =>
  `${rule} ${faultWords[kind]}${why === null ? '' : `, because ${why}`}: ${toPlainJson(example).slice(0, 300)}`;

const maxCheckedBytes = 64 * 1024 ** 2;

async function checkInput(file: string, { flags }: GuardInput): Promise<number> {
  const { tool: name = 'execute_code', language = null } = flags;
  if (language !== null && !(languages as readonly string[]).includes(language))
    throw usageError(
      `--language takes one of ${languages.join(', ')}, not ${JSON.stringify(language)}`,
      'guard check',
    );
  const { rules } = loadRules(file);
  const text = await readStdin();
  await using guard = createGuard({ rules, judge: null, audit: { note: () => {} }, log: createLog('off') });
  const isAfter = flags['after'] !== undefined;
  const verdict = await guard.judge({
    tool: { name, isSensitive: true },
    when: isAfter ? 'after' : 'before',
    user: '-',
    client: null,
    ...(isAfter ? { outputs: [text] } : { code: { language, text } }),
  });
  process.stdout.write(
    flags['json'] === undefined ? `${describeVerdict(verdict)}\n` : `${JSON.stringify(verdict, null, 2)}\n`,
  );
  return verdict.action === 'block' || verdict.action === 'fail' ? 1 : 0;
}

function describeVerdict({ action, rules, reason, outputs }: Verdict): string {
  const shown = action === 'redact' ? ['It would show:', ...outputs.map((text) => escapeControls(text))] : [];
  return [
    action,
    ...rules.map(({ id, count }) => `${id}: ${count}`),
    ...(reason === null ? [] : [reason]),
    ...shown,
  ].join('\n');
}

const readStdin = (): Promise<string> =>
  collectText(process.stdin, {
    limit: maxCheckedBytes,
    tooLong: () =>
      new WorkcrateError('too_large', `At most ${formatBytes(maxCheckedBytes)} can be checked at once.`),
  });

/** Whether a guard judges calls, and whether its rules do what their examples say. */
export async function checkGuard({ guard }: GuardConfig): Promise<Finding[]> {
  if (guard === null) return [{ state: 'ok', what: 'guard: none; the sandbox alone holds code (--guard)' }];
  const { rules, judge } = loadRules(guard);
  const { faults } = await testRules(rules, createLog('off'));
  const what = `guard: ${rules.length} rules${judge === null ? '' : ' and a judge'} from ${escapeControls(guard)}`;
  if (faults.length === 0) return [{ state: 'ok', what }];
  const remedy = `${programName} guard test ${escapeControls(guard)} names the examples that do not come out`;
  return [{ state: 'note', what: `${what}, some of which fail their examples`, remedy }];
}
