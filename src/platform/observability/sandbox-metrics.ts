/**
 * The metrics of what code runs in: whether it worked at the start, what it does not enforce, and how busy it is. They
 * are part of `metrics.ts`, which alone is imported by others.
 */
import { Gauge, type Registry } from '@prometheus-io/client';

export function sandboxMetrics(registers: Registry[]) {
  const up = new Gauge({
    name: 'workcrate_sandbox_up',
    help: '1 if the sandbox worked when the server started, 0 if the settings ask for one and none works; absent with --sandbox off',
    labelNames: ['sandbox'] as const,
    registers,
  });
  const notHeld = new Gauge({
    name: 'workcrate_sandbox_not_held',
    help: '1 for each wall or limit that the sandbox does not enforce on this machine, 0 for the others',
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
        help: 'Runs running and queued, and interpreters that wait for one (warm)',
        labelNames: ['state'] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(occupancy())) runs.set({ state }, count);
        },
      });
    },
  };
}
