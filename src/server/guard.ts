/**
 * The guard as the settings say: none, the shipped rules, or those of a file. A file that cannot be read or has a fault
 * keeps the server from starting. What a rule is, and how calls are judged, is in `guard/`.
 */
import { createGuard, type Guard } from '../features/guard/guard.ts';
import { loadRules } from '../features/guard/rule-file.ts';
import type { AppContext } from './context.ts';

export function openGuard({
  config,
  audit,
  log,
}: Pick<AppContext, 'config' | 'audit' | 'log'>): Guard | null {
  if (config.guard === null) return null;
  const { rules, judge } = loadRules(config.guard);
  log.info('start.guard', { rules: rules.length, judge: judge !== null });
  return createGuard({ rules, judge, audit, log });
}
