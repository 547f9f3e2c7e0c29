import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { noSandbox, run } from '../../code.testing.ts';
import { share, startServer, upload, type TestServer } from '../../server.testing.ts';
import { noPrometheus as skip, startPrometheus } from './prometheus.testing.ts';

const textOf = async (server: TestServer): Promise<string> => (await fetch(`${server.url}/metrics`)).text();

/** The value of a series, or null where there is none. */
function valueOf(text: string, series: string): number | null {
  const line = text.split('\n').find((line) => line.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

it('links, bytes, look-ups, queries, files, build and sweeps are counted', async () => {
  await using server = await startServer();
  const { downloadUrl, fileId } = await share(server, 'hello');
  await server.call('bundle_files', { file_ids: [fileId] });
  for (let time = 0; time < 3; time++) await (await fetch(downloadUrl)).text();
  await fetch(`${server.url}/files/unknown`);
  // An answer ends for the client a moment before it is counted, and the first sweep goes on behind the start.
  let text = '';
  await eventually(async () => {
    text = await textOf(server);
    const isCounted = valueOf(text, 'workcrate_downloads_total{result="200"}') === 3;
    return isCounted && valueOf(text, 'workcrate_last_sweep_timestamp_seconds')! > 0;
  });
  const expected: [string, number][] = [
    ['workcrate_links_total{kind="file"}', 1],
    ['workcrate_links_total{kind="bundle"}', 1],
    ['workcrate_links_total{kind="upload"}', 1],
    ['workcrate_upload_bytes_total', 5],
    ['workcrate_download_bytes_total', 15],
    ['workcrate_downloads_total{result="200"}', 3],
    ['workcrate_files', 1],
    ['workcrate_file_bytes', 5],
    ['workcrate_errors_total{code="link_not_found"}', 1],
    ['workcrate_mcp_sessions', 1],
    ['workcrate_database_query_seconds_count{result="failed"}', 0],
  ];
  for (const [series, value] of expected) assert.equal(valueOf(text, series), value, series);
  assert.match(text, /^workcrate_build_info\{version="[^"]+",node="\d+\.\d+\.\d+"\} 1$/m);
  assert.ok(valueOf(text, 'workcrate_process_start_time_seconds')! > 1e9);
  assert.ok(valueOf(text, 'workcrate_last_sweep_timestamp_seconds')! > 1e9);
  assert.ok(valueOf(text, 'workcrate_database_query_seconds_count{result="ok"}')! > 5);
  const looked = ['hit', 'miss'].map((result) =>
    valueOf(text, `workcrate_link_lookups_total{result="${result}"}`)!,
  );
  assert.equal(looked[0]! + looked[1]!, 3);
});

it('runs are counted and timed by language and reason', { skip: noSandbox }, async () => {
  await using server = await startServer({ sandbox: 'bubblewrap', warmNode: 0 });
  await run(server, 'bash', 'true');
  await run(server, 'bash', 'exit 3');
  await run(server, 'bash', 'sleep 10', { timeout_ms: 1000 });
  const text = await textOf(server);
  const labels = (reason: string): string => `{language="bash",reason="${reason}"}`;
  assert.equal(valueOf(text, `workcrate_executions_total${labels('exit')}`), 2);
  assert.equal(valueOf(text, `workcrate_execution_seconds_count${labels('exit')}`), 2);
  assert.equal(valueOf(text, `workcrate_execution_seconds_count${labels('timeout')}`), 1);
  assert.ok(valueOf(text, `workcrate_execution_seconds_sum${labels('timeout')}`)! >= 1);
  assert.equal(valueOf(text, 'workcrate_runs{state="queued"}'), 0);
});

it('no label holds anything that a client sent', async () => {
  await using server = await startServer();
  await upload(server, 'S3cr3tName.txt', 'hello');
  const requests = ['/S3cr3tName', '/files/S3cr3tName', '/executions/S3cr3tName', '/S3cr3tName/artifacts'];
  for (const path of requests)
    await fetch(server.url + path, { method: 'PUT', headers: { 'X-Request-Id': 'S3cr3tName' } });
  await server.call('share_file', { file_id: 'S3cr3tName' });
  assert.doesNotMatch(await textOf(server), /S3cr3tName/);
});

it('promtool finds nothing wrong with the metrics', { skip }, async () => {
  await using server = await startServer();
  await (await fetch((await share(server, 'hello')).downloadUrl)).text();
  const judged = spawnSync('promtool', ['check', 'metrics'], {
    input: await textOf(server),
    encoding: 'utf8',
  });
  // What the library names so itself is not ours to name.
  const ours = judged.stderr.split('\n').filter((line) => line !== '' && !/workcrate_nodejs_/.test(line));
  assert.deepEqual([ours, judged.stdout], [[], '']);
});

it('a real Prometheus scrapes the server, and its queries answer', { skip }, async () => {
  await using server = await startServer();
  const { downloadUrl } = await share(server, 'hello');
  await (await fetch(downloadUrl)).text();
  await using prometheus = await startPrometheus(new URL(server.url).host);
  assert.equal(await prometheus.valueOf('up'), 1);
  assert.equal(await prometheus.valueOf('sum(workcrate_downloads_total)'), 1);
  assert.equal(await prometheus.valueOf('count(workcrate_build_info)'), 1);
  assert.ok(
    (await prometheus.valueOf(
      'histogram_quantile(0.99, workcrate_database_query_seconds_bucket{result="ok"})',
    ))! > 0,
  );
});
