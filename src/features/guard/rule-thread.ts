/**
 * The thread that tries rules on calls: a pattern that never ends holds it up and not the server, which then ends it.
 * Its other end is `evaluator.ts`.
 */
import { answerCalls, getParentData } from '../../platform/workers/inside.ts';
import {
  compileRule,
  evaluateRules,
  type CompiledRule,
  type Evaluation,
  type GuardInput,
} from './evaluate.ts';
import type { Rule } from './rule.ts';

export interface RulesToTry {
  /** Places of rules in the list that the thread was given. */
  readonly rules: readonly number[];
  readonly input: GuardInput;
}

let compiled: readonly CompiledRule[] | null = null;

const compile = async (): Promise<readonly CompiledRule[]> =>
  (compiled ??= ((await getParentData()) as readonly Rule[]).map(compileRule));

const methods = {
  /** Resolves once all patterns are compiled. */
  prepare: async (): Promise<void> => void (await compile()),
  evaluate: async ({ rules, input }: RulesToTry): Promise<Evaluation> => {
    const all = await compile();
    return evaluateRules(
      rules.map((at) => all[at]!),
      input,
    );
  },
};

export type RuleThreadMethods = typeof methods;

answerCalls(methods);
