import type { AuditEvent } from '../../core/audit/audit.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createGuard, type GuardOptions } from './guard.ts';
import { ruleSchema, type RuleSource } from './rule.ts';

/** A rule with what a test does not care about. */
export const makeRule = (
  rule: Pick<RuleSource, 'id' | 'when' | 'match'> & Partial<RuleSource>,
): RuleSource => ({
  action: 'block',
  reason: 'Because.',
  remedy: 'Do otherwise.',
  ...rule,
});

/** A guard with these rules, and the lines that it notes. */
export function openTestGuard(rules: readonly RuleSource[], options: Partial<GuardOptions> = {}) {
  const noted: AuditEvent[] = [];
  const audit = { note: (event: AuditEvent): void => void noted.push(event) };
  const parsed = rules.map((rule) => ruleSchema.parse(rule));
  const guard = createGuard({ rules: parsed, judge: null, audit, log: createLog('off'), ...options });
  return { guard, noted, [Symbol.asyncDispose]: () => guard[Symbol.asyncDispose]() };
}
