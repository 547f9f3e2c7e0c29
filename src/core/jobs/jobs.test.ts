import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobsContract } from './jobs.contract.ts';

jobsContract({
  name: 'SQLite',
  async newLocation(t) {
    const folder = await mkdtemp(join(tmpdir(), 'workcrate-jobs-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    return join(folder, 'jobs.db');
  },
});
