import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { startServer } from '../../server.testing.ts';
import { noPrometheus } from './prometheus.testing.ts';

const readDocs = (path: string): string =>
  readFileSync(join(import.meta.dirname, '../../../docs', path), 'utf8');
const page = readDocs('guide/observe.md');
const rules = /```yaml\n(groups:[^]*?)```/.exec(page)![1]!;

it('the alerts of docs/guide/observe.md are rules that Prometheus takes', { skip: noPrometheus }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-rules-'));
  try {
    writeFileSync(join(folder, 'rules.yml'), rules);
    const judged = spawnSync('promtool', ['check', 'rules', 'rules.yml'], { cwd: folder, encoding: 'utf8' });
    assert.equal(judged.status, 0, judged.stdout + judged.stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('every metric that docs/guide/observe.md names is there, and every one that is there is in docs/reference/metrics.md', async () => {
  const reference = readDocs('reference/metrics.md');
  await using server = await startServer();
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const there = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!);
  const named = [...`${page}\n${reference}`.matchAll(/\bworkcrate_[a-z0-9_]+\b(?!\*)/g)].map(
    ([name]) => name,
  );
  // There is no sandbox in this server, and so no gauge of its runs.
  const known = new Set([...there, 'workcrate_runs', 'workcrate_process_', 'workcrate_nodejs_']);
  for (const name of named) assert.ok(known.has(name.replace(/_(?:bucket|count|sum)$/, '')), name);
  const ours = there.filter((name) => !/^workcrate_(?:process|nodejs)_/.test(name));
  for (const name of ours) assert.ok(reference.includes(`\`${name}`), name);
});
