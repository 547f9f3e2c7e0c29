import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import type { Report } from '../../ports/sandbox/sandbox.ts';
import { countTokens } from '../../../test/tokens.testing.ts';
import { plainSandbox } from './plain-sandbox.testing.ts';
import { giveReports, png, reportFigure, reportResult } from './reports.testing.ts';
import { wantsPictures } from './results.ts';
import { plenty, type RoomOptions } from './room.testing.ts';
import { openTools } from './tools.testing.ts';

/** Runs `echo out` while these reports come. */
async function runWith(
  reports: readonly Report[],
  {
    show,
    code = 'echo out',
    ...options
  }: Omit<RoomOptions, 'sandbox'> & {
    show?: boolean;
    code?: string;
    clientName?: string;
  } = {},
) {
  const tools = await openTools({
    ...options,
    sandbox: plainSandbox({ reports: giveReports(...reports) }),
  });
  const args = { language: 'bash', code, ...(show === undefined ? {} : { show }) };
  const answer = await tools.call('execute_code', args);
  const pictures = answer.result.content.filter(({ type }) => type === 'image');
  return { ...answer, tools, pictures, id: answer.data.execution_id as string };
}

const picture = { type: 'image', data: png.toString('base64'), mimeType: 'image/png' };

test('values come as text behind the output, and a table with its shape', async () => {
  const { tools, text, data, id } = await runWith([
    reportResult({ text: '42' }),
    reportResult({ kind: 'display', text: '<b>' }, ['text/html', '<b>bold</b>']),
    reportResult({ text: '   a\n0  1\n', rows: 1000, columns: 1 }, ['text/html', '<table>']),
    { header: { type: 'more', cell: 0, results: 3 }, payload: png.subarray(0, 0) },
  ]);
  await using _ = tools;
  const [, display, table] = data.results;
  assert.deepEqual(text.split('\n').slice(0, -1), [
    'out',
    'Value: 42',
    'Displayed: <b>',
    `${id}-display-1.html, 11 bytes, until ${display.parts[0].link.expiresAt.slice(0, 16)}Z: curl -fsSL -OJ ${display.parts[0].link.downloadUrl}`,
    'Value, 1000 rows, 1 columns:',
    '   a',
    '0  1',
    `text/html, 7 bytes: share_file with file_id ${table.parts[0].file_id}`,
    '3 more results were only counted: 16 of a run are kept.',
  ]);
  assert.equal(data.more_results, 3);
  assert.equal(table.parts[0].link, null);
  const again = await tools.call('get_execution', { execution_id: id });
  for (const line of ['Value: 42', 'Value, 1000 rows, 1 columns:', '3 more results'])
    assert.ok(again.text.includes(line), again.text);
  assert.ok(again.text.includes(`text/html, 11 bytes: share_file with file_id ${display.parts[0].file_id}`));
  const found = await tools.call('search_executions', { text: '0  1' });
  assert.equal(found.data.executions[0].execution_id, id);
  recordProof('D18:values-and-tables');
});

test('a figure is a line with its link of at most 150 tokens in all, and its file can be fetched', async () => {
  const { tools, text, data, id } = await runWith([reportFigure()], { code: 'true' });
  await using _ = tools;
  assert.ok(countTokens(text) <= 150, `${countTokens(text)}: ${text}`);
  const [{ parts }] = data.results;
  assert.equal(parts[0].link.filename, `${id}-figure-1.png`);
  assert.equal(parts[0].link.mediaType, 'image/png');
  const file = await tools.room.files.find({ user: 'ada' }, parts[0].file_id);
  assert.deepEqual([file?.size, file?.origin], [png.length, 'result']);
  recordProof('D18:figures-by-link');
});

test('long text is cut, and a link leads to the whole', async () => {
  const whole = 'x'.repeat(5000);
  const { tools, text, data } = await runWith([
    reportResult({ text: whole.slice(0, 2000), cut: true }, ['text/plain', whole]),
  ]);
  await using _ = tools;
  assert.match(text, /^Value, cut: x{2000}\nexec_\w+-value-1\.txt, 4\.9 KB, until /m);
  assert.equal(data.results[0].cut, true);
  recordProof('D18:short-text-the-rest-by-link');
});

describe('pictures', () => {
  it('are shown to clients that are known to show them, or where they are asked for', async () => {
    for (const client of ['claude-code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'opencode'])
      assert.equal(wantsPictures(undefined, { name: `${client} 1.2.3` }), true, client);
    for (const name of ['mcporter 1', 'opencode-like 1', null])
      assert.equal(wantsPictures(undefined, { name }), false, `${name}`);
    const known = await runWith([reportFigure()], { clientName: 'claude-code' });
    await using _known = known.tools;
    assert.deepEqual(known.pictures, [picture]);
    const again = await known.tools.call('get_execution', { execution_id: known.id });
    assert.deepEqual(again.result.content.slice(1), [picture]);
    const silent = await runWith([reportFigure()], { clientName: 'claude-code', show: false });
    await using _silent = silent.tools;
    assert.deepEqual(silent.pictures, []);
    const unknown = await runWith([reportFigure()]);
    await using _unknown = unknown.tools;
    assert.deepEqual(unknown.pictures, []);
    const asked = await runWith([reportFigure()], { show: true });
    await using _asked = asked.tools;
    assert.deepEqual(asked.pictures, [picture]);
    assert.doesNotMatch(asked.text, /Not shown/);
    recordProof('D18:pictures-where-clients-show-them');
  });

  it('at most four, none above 200 KB, and the text says how many are missing', async () => {
    const large = Buffer.concat([png, Buffer.alloc(200 * 1024)]);
    const { tools, pictures, text } = await runWith(
      [reportFigure(large), ...Array.from({ length: 6 }, () => reportFigure())],
      { show: true },
    );
    await using _ = tools;
    assert.equal(pictures.length, 4);
    assert.match(text, /^Not shown: 1 larger than 200 KB\.\nNot shown: 2 more; an answer shows 4\.$/m);
    assert.equal(text.match(/curl -fsSL/g)?.length, 7);
  });

  it('one that code saved as well is shown once', async () => {
    const code = `printf '\\x89PNG\\r\\n\\x1a\\n and more' > "$ARTIFACTS/same.png"; printf '\\x89PNG\\r\\n\\x1a\\n other' > "$ARTIFACTS/other.png"`;
    const { tools, pictures } = await runWith([reportFigure()], { code, show: true });
    await using _ = tools;
    const other = Buffer.from('\x89PNG\r\n\x1a\n other', 'latin1').toString('base64');
    assert.deepEqual(pictures, [picture, { ...picture, data: other }]);
  });

  it('SVG, HTML and what only claims to be a picture are files', async () => {
    const { tools, pictures, data } = await runWith(
      [
        reportResult({ kind: 'figure' }, ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>']),
        reportResult({ kind: 'figure' }, ['image/png', '<html><script>']),
        reportResult({ kind: 'figure' }, ['text/html', png]),
      ],
      { show: true },
    );
    await using _ = tools;
    assert.deepEqual(pictures, []);
    assert.deepEqual(
      data.results.map(({ parts }: { parts: { mime: string }[] }) => parts[0]!.mime),
      ['image/svg+xml', 'application/octet-stream', 'text/html'],
    );
  });
});

describe('hostile code', () => {
  it('gets 16 results of 10,000, and the rest are counted', async () => {
    const flood = Array.from({ length: 10_000 }, (_unused, n) => reportResult({ text: `${n}` }));
    const { tools, data, text } = await runWith(flood);
    await using _ = tools;
    assert.deepEqual([data.results.length, data.more_results], [16, 9984]);
    assert.match(text, /^9984 more results were only counted/m);
  });

  it('names no file', async () => {
    const { header, payload } = reportFigure();
    const parts = [{ mime: 'image/png', size: payload.length, name: '../../etc/passwd\u202e' }];
    const { tools, data, text, id } = await runWith([{ header: { ...header, parts }, payload }]);
    await using _ = tools;
    assert.equal(data.results[0].parts[0].link.filename, `${id}-figure-1.png`);
    assert.doesNotMatch(text, /passwd/);
  });

  it('loses what it forged, and keeps the rest', async () => {
    const { header, payload } = reportFigure();
    const wrong = { header: { ...header, parts: [{ mime: 'image/png', size: 1 }] }, payload };
    const { tools, data } = await runWith([wrong, { header: {}, payload }, reportFigure(), wrong]);
    await using _ = tools;
    assert.equal(data.results.length, 1);
    recordProof('D18:reports-are-hostile');
  });
});

test('a quota that is full costs the file, not the run', async () => {
  const { tools, data, text, failed, pictures } = await runWith(
    [reportFigure(), reportResult({ text: '7' })],
    {
      quotas: { ...plenty, userBytes: 10 },
      show: true,
    },
  );
  await using _ = tools;
  assert.equal(failed, false);
  assert.equal(data.exit_code, 0);
  const [{ parts }] = data.results;
  assert.deepEqual([parts[0].file_id, parts[0].link, pictures], [null, null, []]);
  assert.ok(text.includes(`image/png, 17 bytes, could not be stored: ${parts[0].problem}`), text);
  assert.match(text, /^Value: 7$/m);
});
