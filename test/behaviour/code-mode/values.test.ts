import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { openCallsBench, playToolbox, say, type CallsBench } from './bench.testing.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const nest = (depth: number): unknown => (depth === 0 ? 1 : { in: nest(depth - 1) });

const row = Array.from({ length: 40_000 }, () => 0);

/** What a server may answer, by name. */
const results: Readonly<Record<string, () => CallToolResult>> = {
  typed: () => ({ ...say('as text'), structuredContent: { total: 3, items: ['ä', null, 1.5] } }),
  json: () => say('{"a": [1, 2]}'),
  array: () => say('[1, 2]'),
  number: () => say('42'),
  broken: () => say('{"a": 1'),
  words: () => say('some words'),
  several: () => ({ content: [...say('one').content, ...say('[2]').content] }),
  nothing: () => ({ content: [] }),
  failed: () => ({ isError: true, ...say('It does not work today.') }),
  silent: () => ({ isError: true, content: [] }),
  picture: () => ({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] }),
  blob: () => ({
    content: [{ type: 'resource', resource: { uri: 'x://y', blob: 'AAEC', mimeType: '../../etc/passwd' } }],
  }),
  text: () => ({ content: [{ type: 'resource', resource: { uri: 'x://y', text: 'inside' } }] }),
  link: () => ({ content: [{ type: 'resource_link', uri: 'https://example.org/x', name: 'x', size: 7 }] }),
  large: () => ({ ...say(''), structuredContent: { rows: 'x'.repeat(3_000_000) } }),
  long: () => say('é'.repeat(700_000)),
  huge: () => say('x'.repeat(200_000_000)),
  many: () => ({ ...say(''), structuredContent: { rows: Array.from({ length: 1000 }, () => row) } }),
  deep: () => ({ ...say(''), structuredContent: { in: nest(5000) } }),
};

const toolbox = playToolbox(
  'play',
  Object.fromEntries(Object.entries(results).map(([name, make]) => [name, async () => make()])),
);

describe('what code gets of a result', { skip: noSandbox }, () => {
  let bench: CallsBench;
  before(async () => void (bench = await openCallsBench()));
  after(() => bench?.[Symbol.asyncDispose]());

  it('values, in Python', async () => {
    const code = `from mcp.play import *
print(typed(), json(), array(), number(), broken(), words(), several(), nothing(), text(), sep="|")
for function in (failed, silent):
    try: print(function())
    except ToolError as error: print(error.server, error.tool, error.text)`;
    const got = await bench.run('python', code, toolbox);
    assert.equal(
      got.out,
      "{'total': 3, 'items': ['ä', None, 1.5]}|{'a': [1, 2]}|[1, 2]|42|{\"a\": 1|some words|['one', [2]]|None|inside\n" +
        'play play_failed It does not work today.\nplay play_silent It failed and did not say why.\n',
      got.err,
    );
    assert.deepEqual(
      got.calls.map(({ sequence, outcome, verdict }) => [sequence, outcome, verdict]),
      got.calls.map((_, at) => [at + 1, at < 9 ? 'ok' : 'error', 'granted']),
    );
    assert.match(got.calls[0]!.resultHash!, /^[0-9a-f]{64}$/);
  });

  it('values, in Node', async () => {
    const code = `import * as play from '/tools/mcp/play/index.mjs';
import { ToolError } from '/tools/mcp/_workcrate.mjs';
const values = [];
for (const name of ['typed', 'json', 'array', 'number', 'broken', 'words', 'several', 'nothing', 'text']) values.push(await play[name]());
console.log(JSON.stringify(values));
await play.failed().catch((error) => console.log(error instanceof ToolError, error.message));`;
    const got = await bench.run('node', code, toolbox);
    assert.equal(
      got.out,
      '[{"total":3,"items":["ä",null,1.5]},{"a":[1,2]},[1,2],"42","{\\"a\\": 1","some words",["one",[2]],null,"inside"]\n' +
        'true play_failed: It does not work today.\n',
      got.err,
    );
  });

  it('files for what is large or no text, links for what is elsewhere', async () => {
    const code = `import json as j, os
from mcp.play import *
for function in (picture, blob, large, long):
    file = function()
    print(file.name, file.path == os.path.abspath(file.name), file.size == os.path.getsize(file), file.media_type)
print(len(j.load(open("play_large-3.json"))["rows"]), len(open(long(), encoding="utf-8").read()))
found = link()
print(found.uri, found.name, found.size, found.media_type)
try: found.save("x")
except ToolError as error: print(error.text)`;
    const got = await bench.run('python', code, toolbox);
    assert.equal(
      got.out,
      'play_picture-1.png True True image/png\n' +
        'play_blob-2.bin True True ../../etc/passwd\n' +
        'play_large-3.json True True application/json\n' +
        'play_long-4.txt True True text/plain\n' +
        '3000000 700000\n' +
        'https://example.org/x x 7 None\n' +
        'Only a file_id of yours and a download link of this server can be saved.\n',
      got.err,
    );
    recordProof('F6:large-values-and-pictures-are-files');
  });

  it('a file that is there is not overwritten, and a link of the run leads nowhere', async () => {
    const code = `import os
from mcp.play import large
open("play_large-1.json", "w").write("mine")
os.symlink("/tmp/elsewhere", "play_large-2.json")
print(large().name, large().name, open("play_large-1.json").read(), os.path.exists("/tmp/elsewhere"))`;
    const got = await bench.run('python', code, toolbox);
    assert.equal(got.out, 'play_large-1-2.json play_large-2-2.json mine False\n', got.err);
  });

  it('an error for what no run can take, and the server goes on', async () => {
    const code = `from mcp.play import *
for function in (huge, many, deep):
    try: print(function())
    except ToolError as error: print(error.text)
print(words())`;
    const got = await bench.run('python', code, toolbox);
    const refused = 'The result has more than 64 MB, or is nested too deep. Ask for less.\n';
    assert.equal(got.out, `${refused.repeat(3)}some words\n`, got.err);
  });

  it('arguments of more than 1 MB are refused before they are sent', async () => {
    const code = `from mcp.play import *
try: words(text="x" * (1 << 20))
except ToolError as error: print(error.text)
print(words())`;
    const got = await bench.run('python', code, toolbox);
    assert.equal(
      got.out,
      'The arguments have more than 1 MB. Put the data into a file, and name that.\nsome words\n',
      got.err,
    );
  });
});
