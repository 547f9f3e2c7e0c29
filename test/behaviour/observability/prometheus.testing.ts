import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { patienceMs } from '../../../src/platform/eventually.testing.ts';
import { freePort } from '../../../src/platform/free-port.testing.ts';

const installed = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

/** False where there is a Prometheus, else why not, for `skip`. */
export const noPrometheus: string | false =
  installed('prometheus') && installed('promtool') ? false : 'needs Prometheus (Debian: prometheus)';

/** A real Prometheus that scrapes one server, in a folder of its own. */
export async function startPrometheus(target: string) {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-prometheus-'));
  const port = await freePort();
  const job = { job_name: 'workcrate', scrape_interval: '1s', static_configs: [{ targets: [target] }] };
  const config = { scrape_configs: [job] };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const flags = [
    '--config.file=prometheus.yml',
    '--storage.tsdb.path=data',
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn('prometheus', flags, { cwd: folder, stdio: 'ignore' });
  const ended = once(child, 'exit');

  async function ask(query: string): Promise<number | null> {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
    const answer = await fetch(url).catch(() => null);
    if (answer?.status !== 200) return null;
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result[0] === undefined ? null : Number(data.result[0].value[1]);
  }

  return {
    /** Waits for the first scrape, within bounds. */
    async valueOf(query: string): Promise<number | null> {
      for (const end = performance.now() + patienceMs; performance.now() < end;) {
        const value = await ask(query);
        if (value !== null && !Number.isNaN(value)) return value;
        await pause(200);
      }
      return null;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
