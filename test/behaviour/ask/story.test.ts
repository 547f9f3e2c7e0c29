import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { listedByYauzl } from '../../../src/platform/zip/unzip-oracle.testing.ts';
import { serve, run, temporaryFolder } from '../cli/program.testing.ts';
import type { Script } from '../../clients/conversation.testing.ts';
import { startModel, type ScriptedModel } from '../../clients/model.testing.ts';
import { noSandbox } from '../../code.testing.ts';

const table = 'month,rain\n1,60\n2,45\n3,52\n4,38\n5,71\n6,66\n';

/** Finds the table by a tool, and draws a bar for each of its rows, with what Python brings along. */
const plot = `
import csv, struct, zlib
from mcp.workcrate import list_files
from mcp._workcrate import save
[table] = [file for file in list_files()['files'] if file['filename'] == 'rain.csv']
save(table['file_id'], 'rain.csv')
rows = list(csv.DictReader(open('rain.csv')))
width, height, bar = 40 * len(rows), 100, 40
pixels = bytearray()
for y in range(height):
    pixels.append(0)
    for x in range(width):
        is_bar = x % bar < 30 and height - y <= int(rows[x // bar]['rain'])
        pixels += bytes((40, 90, 160) if is_bar else (255, 255, 255))
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
header = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
with open('/artifacts/rain.png', 'wb') as file:
    file.write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(bytes(pixels))) + chunk(b'IEND', b''))
print('mean', sum(int(row['rain']) for row in rows) / len(rows))
`;

/** What the model does; each step goes by what it has received, as a real one would. */
const script: Script = [
  () => ({
    tool: 'execute_code',
    input: { language: 'python', code: plot, tools: ['list_files', 'save'] },
  }),
  () => ({ tool: 'get_artifact', input: { name: 'rain.png' } }),
  (_, all) => ({
    tool: 'build_exports_content',
    input: {
      documentContent: `# Rain\n\nThe mean is ${/mean (\S+)/.exec(all[0]!.text)![1]} mm.\n\n![Rain by month](rain.png)\n`,
      formats: ['pdf'],
      outputBasename: 'rain-report',
    },
  }),
  (_, all) => ({
    tool: 'pack_crate',
    input: { execution_id: /exec_[0-9a-f]{12}/.exec(all[0]!.text)![0], title: 'Rain by month' },
  }),
  () => ({ say: 'The plot, the report and the crate are ready.' }),
];

const asIs = { tool: (name: string) => name, shell: () => ({ name: 'none', input: {} }) };

interface Told {
  readonly answer: string;
  readonly links: { readonly url: string; readonly filename: string }[];
  readonly steps: {
    readonly calls: { readonly tool: string; readonly outcome: string; readonly text: string }[];
  }[];
  readonly tokens_in: number;
}

async function fetchLink({ url, filename }: Told['links'][number]): Promise<[string, Buffer]> {
  const answer = await fetch(url);
  assert.equal(answer.status, 200, filename);
  return [filename, Buffer.from(await answer.arrayBuffer())];
}

it('a table becomes a plot, a report and a crate, each behind a link', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  const env = {
    WORKCRATE_SANDBOX: 'bubblewrap',
    WORKCRATE_WARM_NODE: '0',
    WORKCRATE_API_KEY: 'story-secret-key',
  };
  await using server = await serve(['--data', join(folder.path, 'data')], { env });
  await using model: ScriptedModel = await startModel(script, asIs);
  await writeFile(join(folder.path, 'rain.csv'), table);
  const request = 'Plot the rain by month, write a report about it and pack it as a crate.';
  const where = ['--endpoint', `${model.url}/v1`, '--model', 'scripted', '--url', server.url];
  const words = ['ask', request, '--file', 'rain.csv', '--yes', '--json', ...where];
  const ended = await run(words, { env, cwd: folder.path });
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(model.received().length, 4);
  const told = JSON.parse(ended.stdout) as Told;
  assert.equal(told.answer, 'The plot, the report and the crate are ready.');
  assert.deepEqual(
    told.steps.map(({ calls }) => calls.map(({ tool, outcome }) => `${tool} ${outcome}`)),
    [['execute_code ok'], ['get_artifact ok'], ['build_exports_content ok'], ['pack_crate ok'], []],
    ended.stderr,
  );
  const bytes = new Map(await Promise.all(told.links.map(fetchLink)));
  assert.deepEqual(bytes.get('rain.png')?.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n');
  assert.equal(bytes.get('rain-report.pdf')?.subarray(0, 5).toString(), '%PDF-');
  const [, crate] = [...bytes].find(([name]) => name.endsWith('.zip'))!;
  const members = (await listedByYauzl(crate)).map(({ fileName }) => fileName);
  assert.ok(members.includes('ro-crate-metadata.json'), members.join());
  assert.ok(members.includes('calls/tools.json'), 'the call of the code is in the crate');
  await writeFile(join(folder.path, 'crate.zip'), crate);
  const validated = await run(['validate', join(folder.path, 'crate.zip')]);
  assert.equal(validated.code, 0, validated.stdout + validated.stderr);
  for (const text of [ended.stdout, ended.stderr, server.output.stderr, JSON.stringify(model.requests)])
    assert.doesNotMatch(text, /story-secret-key/);
  recordProof('F5:whole-task', 'F5:links-printed', 'F5:json');
});
