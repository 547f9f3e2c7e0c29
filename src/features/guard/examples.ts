/**
 * Tries each rule on its own examples and counterexamples, in the thread that judges calls, and says what does not come
 * out. It prints nothing (`command.ts` does).
 */
import { asWorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { GuardInput } from './evaluate.ts';
import { createEvaluator } from './evaluator.ts';
import type { Example, Rule } from './rule.ts';
import { listNamedTexts } from './texts.ts';

/** An example that a rule gets wrong. */
export interface ExampleFault {
  readonly rule: string;
  /** `missed` is an example that it does not find, `wrong` a counterexample that it does. */
  readonly kind: 'missed' | 'wrong' | 'failed';
  readonly example: Example;
  /** Why it failed. */
  readonly why: string | null;
}

export interface TestedRules {
  readonly examples: number;
  readonly faults: readonly ExampleFault[];
  /** Rules that have no example, or no counterexample. */
  readonly untested: readonly string[];
}

export async function testRules(rules: readonly Rule[], log: Log, timeMs?: number): Promise<TestedRules> {
  await using evaluator = createEvaluator({ rules, log, ...(timeMs === undefined ? {} : { timeMs }) });
  const faults: ExampleFault[] = [];
  let examples = 0;
  const tryExample = async (at: number, example: Example, isExample: boolean): Promise<void> => {
    const rule = rules[at]!;
    const fault = { rule: rule.id, example };
    examples++;
    try {
      const { hits } = await evaluator.evaluate('-', { rules: [at], input: toInput(rule, example) });
      if (hits.length > 0 !== isExample)
        faults.push({ ...fault, kind: isExample ? 'missed' : 'wrong', why: null });
    } catch (error) {
      faults.push({ ...fault, kind: 'failed', why: asWorkcrateError(error).message });
    }
  };
  for (const [at, rule] of rules.entries()) {
    for (const example of rule.examples) await tryExample(at, example, true);
    for (const example of rule.counterexamples) await tryExample(at, example, false);
  }
  const untested = rules.filter((rule) => rule.examples.length === 0 || rule.counterexamples.length === 0);
  return { examples, faults, untested: untested.map(({ id }) => id) };
}

/** A bare text is code before, and output after. */
function toInput({ when }: Rule, example: Example): GuardInput {
  const given =
    typeof example === 'string' ? (when === 'before' ? { code: example } : { output: example }) : example;
  const { language = null, code = null, output, arguments: values = {} } = given as Exclude<Example, string>;
  return { language, code, texts: listNamedTexts(values), outputs: output === undefined ? [] : [output] };
}
