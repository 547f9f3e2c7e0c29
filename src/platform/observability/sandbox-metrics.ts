/**
 * The metrics of what code runs in: whether it worked at the start, what it does not enforce, and how busy it is. They
 * are part of `metrics.ts`, which alone is imported by others.
 */
import { Gauge, type Registry } from '@prometheus-io/client';

export function sandboxMetrics(registers: Registry[]) {
  const up = new Gauge({
    name: 'workcrate_sandbox_up',
    help: 'Whether code can be run, as found at the start; absent where the settings ask for no sandbox',
    labelNames: ['sandbox'] as const,
    registers,
  });
  const notHeld = new Gauge({
    name: 'workcrate_sandbox_not_held',
    help: 'Walls and limits of the sandbox: 1 where it does not enforce one, 0 where it does',
    labelNames: ['limit'] as const,
    registers,
  });
  return {
    /** The sandbox that the settings ask for does not work. */
    sandboxMissing: (sandbox: string): void => up.set({ sandbox }, 0),
    /** It works. `holds` has a reason for each wall and limit that it does not enforce. */
    sandboxOpened(sandbox: string, holds: Readonly<Record<string, true | string>>): void {
      up.set({ sandbox }, 1);
      for (const [limit, held] of Object.entries(holds)) notHeld.set({ limit }, held === true ? 0 : 1);
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
  };
}
