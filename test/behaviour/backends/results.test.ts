import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { findMissingScience } from '../../../src/ports/sandbox/science.testing.ts';
import { countTokens } from '../../tokens.testing.ts';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { replyOf } from '../../server.testing.ts';

const plot = 'import matplotlib.pyplot as plt\nplt.plot([1, 4, 2])\nplt.title("Sales")\nprint("drawn")';

describe('results of real Python', { skip: noSandbox || findMissingScience() }, () => {
  const server = useCodeServer({ pythonPreload: ['numpy', 'pandas', 'matplotlib.pyplot'] });

  /** A client that is known to show pictures, and does not ask for structured content. */
  async function callAsAgent(tool: string, input: Record<string, unknown>) {
    const client = new Client({ name: 'claude-code', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server().url}/mcp`)));
    try {
      return replyOf(await client.callTool({ name: tool, arguments: input }));
    } finally {
      await client.close();
    }
  }

  it('a figure needs no call to save it: one line with its link, and its picture for an agent', async () => {
    const { text, raw } = await callAsAgent('execute_code', { language: 'python', code: plot });
    assert.ok(countTokens(text) <= 150, `${countTokens(text)}: ${text}`);
    assert.match(text, /^drawn\nFigure: figure of \d+ x \d+ pixels with 1 axes: 'Sales'\nexec_/);
    const [, url] = /curl -fsSL (?:-OJ|-o \S+) (\S+)/.exec(text)!;
    const bytes = Buffer.from(await (await fetch(url!)).arrayBuffer());
    const picture = { type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' };
    assert.deepEqual(raw.content.slice(1), [picture]);
    assert.ok(bytes.length < 200 * 1024);
    const [, id] = /\[(exec_\w+):/.exec(text)!;
    const again = await callAsAgent('get_execution', { execution_id: id });
    assert.match(again.text, /^image\/png, [\d.]+ KB: share_file with file_id file_[0-9a-f]{24}$/m);
    recordProof('D18:figures-without-a-call-to-save');
  });

  it('each open figure comes once, 16 of a run are kept, and the rest are counted', async () => {
    const code =
      'import matplotlib.pyplot as plt\nfor n in range(18):\n    plt.figure(figsize=(1, 1))\n    plt.show()\nplt.figure(figsize=(1, 1))';
    const data = await run(server(), 'python', code);
    assert.deepEqual([data.results.length, data.more_results], [16, 3]);
    const names = data.results.map(
      ({ parts }: { parts: { link: { filename: string } }[] }) => parts[0]!.link.filename,
    );
    assert.deepEqual(names.slice(0, 2), [
      `${data.execution_id}-figure-1.png`,
      `${data.execution_id}-figure-2.png`,
    ]);
  });

  it('tables have their shape, and objects the forms that they give themselves', async () => {
    const code = [
      'import pandas as pd',
      'class Both:',
      '    def _repr_mimebundle_(self, include=None, exclude=None):',
      '        return {"text/plain": "both", "text/html": "<b>both</b>", "application/vnd.own.v1+json": {"a": 1}}',
      'display(Both())',
      'pd.DataFrame({"a": range(1000), "b": 1.5})',
    ].join('\n');
    const { results } = await run(server(), 'python', code);
    const [both, table] = results;
    assert.deepEqual([both.kind, both.text], ['display', 'both']);
    assert.deepEqual(
      both.parts.map(({ mime }: { mime: string }) => mime),
      ['text/html', 'application/vnd.own.v1+json'],
    );
    assert.deepEqual([table.kind, table.rows, table.columns], ['value', 1000, 2]);
    assert.ok(table.text.split('\n').length < 30, table.text);
    recordProof('D18:bundles-of-real-code');
  });

  it('code that redefines, closes and floods what it can reach loses its results at most', async () => {
    const code = [
      'import os',
      'for fd in range(3, 64):',
      '    try: os.write(fd, b"\\0" * 24 + os.urandom(4096))',
      '    except OSError: pass',
      'for fd in range(3, 64):',
      '    try: os.close(fd)',
      '    except OSError: pass',
      'print = None',
      'os.write(1, b"still here\\n")',
      '42',
    ].join('\n');
    const data = await run(server(), 'python', code);
    assert.equal(data.stdout, 'still here\n');
    for (const { text } of data.results) assert.equal(text, '42');
    const after = await run(server(), 'python', '6 * 7');
    assert.equal(after.results[0].text, '42');
  });
});
