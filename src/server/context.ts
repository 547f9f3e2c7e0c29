/**
 * What every part of the composition root gets. Rooms never see it whole: they take single values.
 */
import type { Audit } from '../core/audit/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { OpenJudge } from '../core/feature.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Tracing } from '../platform/observability/tracing.ts';

/** What every part of the composition root uses. */
export interface AppContext {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly audit: Audit;
  /** Judges calls, answers and runs; null where the operator asked for that of no feature. */
  readonly judge: OpenJudge | null;
  readonly clock: Clock;
  readonly log: Log;
}
