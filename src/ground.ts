import type { Audit } from './audit/audit.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Tracing } from './tracing.ts';

/** What every part of the composition root stands on. */
export interface Ground {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
}
