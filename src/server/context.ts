/**
 * What every part of the composition root gets. Rooms never see it whole: they take single values.
 */
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Guard } from '../guard/guard.ts';
import type { JudgeAnswer } from '../mcp/answered-requests.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing.ts';

/** What every part of the composition root uses. */
export interface AppContext {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly audit: Audit;
  /** Judges calls; null where the operator asked for none. */
  readonly guard: Guard | null;
  /** The guard, for whatever is answered to requests that are no calls. */
  readonly judge: JudgeAnswer | undefined;
  readonly clock: Clock;
  readonly log: Log;
}
