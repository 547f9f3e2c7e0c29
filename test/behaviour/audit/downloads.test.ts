import assert from 'node:assert/strict';
import { it } from 'node:test';
import { share, startServer, storageSettings } from '../../server.testing.ts';
import { auditOf } from './lines.testing.ts';

const bytes = 'A'.repeat(1000);
const get = async (url: string, headers: Record<string, string> = {}): Promise<number> => {
  const answer = await fetch(url, { headers });
  await answer.arrayBuffer();
  return answer.status;
};

/** What was told of downloads once the server has stopped, by the names of the files. */
const downloadsIn = (data: string) =>
  auditOf(data)
    .filter(({ operation }) => operation === 'download')
    .map(({ level, user, subject, result, details: { link: _link, ...details } = {} }) => {
      assert.deepEqual([level, user], ['trace', 'local']);
      return [String(subject), result, details] as const;
    });

it('every GET that sent bytes of a file is told, with what was sent and whether it was whole', async () => {
  await using server = await startServer();
  const named = async (filename: string) =>
    (await share(server, filename === 'empty' ? '' : bytes, { filename })).downloadUrl;
  assert.equal(await get(await named('whole')), 200);
  assert.equal(await get(await named('empty')), 200);
  assert.equal(await get(await named('all-but-last'), { Range: 'bytes=0-998' }), 206);
  assert.equal(await get(await named('last'), { Range: 'bytes=999-999' }), 206);
  assert.equal(await get(await named('several'), { Range: 'bytes=0-99,500-599' }), 206);
  assert.equal((await fetch(await named('head'), { method: 'HEAD' })).status, 200);
  const two = await named('in-two');
  await get(two, { Range: 'bytes=0-499' });
  await get(two, { Range: 'bytes=500-' });
  await server.restart();
  const told = downloadsIn(server.data);
  const whole = { size: 1000, whole: true };
  const part = { size: 1000, whole: false, requests: 1 };
  assert.deepEqual(
    told.toSorted(([a], [b]) => a.localeCompare(b)),
    [
      ['all-but-last', 'partial', { bytes: 999, ...part, from: 0, to: 999 }],
      ['empty', 'ok', { bytes: 0, size: 0, whole: true }],
      ['in-two', 'ok', { bytes: 1000, ...whole, from: 0, to: 1000, requests: 2 }],
      ['last', 'partial', { bytes: 1, ...part, from: 999, to: 1000 }],
      ['several', 'partial', { bytes: 200, ...part, from: 0, to: 600 }],
      ['whole', 'ok', { bytes: 1000, ...whole }],
    ],
  );
});

it('a single-use link is told of as well, with its id and never its token', async () => {
  await using server = await startServer();
  const { downloadUrl, token } = await share(server, bytes, { single_use: true });
  assert.equal(await get(downloadUrl), 200);
  await server.restart();
  const lines = auditOf(server.data);
  assert.deepEqual(downloadsIn(server.data), [['file.bin', 'ok', { bytes: 1000, size: 1000, whole: true }]]);
  assert.ok(!JSON.stringify(lines).includes(token));
  assert.match(
    String(lines.find(({ operation }) => operation === 'download')?.details?.['link']),
    /^\w{16}$/,
  );
});

const onDisk = storageSettings().storage === 'disk';
it(
  'a download that a proxy sends is told as handed over, and counts as it did',
  { skip: onDisk ? false : 'accel needs files on disk' },
  async () => {
    await using server = await startServer({ downloads: 'accel', redirectFrom: 1 });
    const viaProxy = { 'x-sendfile-type': 'X-Accel-Redirect' };
    const { downloadUrl } = await share(server, bytes);
    assert.equal(await get(downloadUrl, viaProxy), 200);
    await get(downloadUrl, { ...viaProxy, Range: 'bytes=0-998' });
    const { data } = await server.call('link_status', { token: downloadUrl });
    assert.deepEqual([data.downloads, data.bytesSent], [1, 0]);
    await server.restart();
    assert.deepEqual(downloadsIn(server.data), [
      ['file.bin', 'handed_over', { bytes: 0, size: 1000, whole: true }],
      ['file.bin', 'handed_over', { bytes: 0, size: 1000, whole: false, from: 0, to: 999, requests: 1 }],
    ]);
  },
);
