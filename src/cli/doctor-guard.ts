import type { ServerConfig as Config } from '../server/settings.ts';
import { testRules } from '../features/guard/examples.ts';
import { loadRules } from '../features/guard/rule-file.ts';
import { createLog } from '../platform/observability/log.ts';
import { programName } from '../platform/program.ts';
import { escapeControls } from '../platform/text/text.ts';
import type { Finding } from './doctor.ts';

/** Whether a guard judges calls, and whether its rules do what their examples say. */
export async function checkGuard({ guard }: Config): Promise<Finding[]> {
  if (guard === null) return [{ state: 'ok', what: 'guard: none; the sandbox alone holds code (--guard)' }];
  const { rules, judge } = loadRules(guard);
  const { faults } = await testRules(rules, createLog('off'));
  const what = `guard: ${rules.length} rules${judge === null ? '' : ' and a judge'} from ${escapeControls(guard)}`;
  if (faults.length === 0) return [{ state: 'ok', what }];
  const remedy = `${programName} guard test ${escapeControls(guard)} names the examples that do not come out`;
  return [{ state: 'note', what: `${what}, some of which fail their examples`, remedy }];
}
