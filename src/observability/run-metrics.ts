import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';

/** From a shell that says one word to the longest run that may be asked for. */
const runBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 3600];

export interface EndedRun {
  readonly language: string;
  readonly reason: string;
  readonly durationMs: number | null;
}

export function runMetrics(registers: Registry[]) {
  const executions = new Counter({
    name: 'workcrate_executions_total',
    help: 'Runs of code, by language and how they ended',
    labelNames: ['language', 'reason'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'workcrate_execution_seconds',
    help: 'How long runs of code took, without the wait for their turn',
    labelNames: ['language', 'reason'] as const,
    buckets: runBuckets,
    registers,
  });
  return {
    executions,
    executionEnded({ language, reason, durationMs }: EndedRun): void {
      executions.inc({ language, reason });
      // One that never started took no time, and would only make the others look quick.
      if (reason !== 'refused' && durationMs !== null)
        durations.observe({ language, reason }, durationMs / 1000);
    },
    /** Shows how busy the sandbox is whenever somebody asks. */
    watchSandbox(occupancy: () => Readonly<Record<'running' | 'queued' | 'warm', number>>): void {
      const runs: Gauge<'state'> = new Gauge({
        name: 'workcrate_runs',
        help: 'Runs under way and waiting, and interpreters that wait for one',
        labelNames: ['state'] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(occupancy())) runs.set({ state }, count);
        },
      });
    },
    watchSessions(count: () => number): void {
      const sessions: Gauge = new Gauge({
        name: 'workcrate_mcp_sessions',
        help: 'Sessions open with clients of MCP versions that have them',
        registers,
        collect: () => sessions.set(count()),
      });
    },
  };
}
