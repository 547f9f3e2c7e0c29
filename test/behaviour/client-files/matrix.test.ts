import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ask, prove } from './asking.testing.ts';
import { capabilitiesOf, cells, rungOf, viaOf, type Cell } from './cells.testing.ts';
import { connect, type Connected } from './clients.testing.ts';
import { honest } from './honest.testing.ts';
import { binary, furnish, makeProject, umlauts, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';
import { flattened } from './tree.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const nameOf = ({ transport, version, set }: Cell): string => `${set}-${version}-${transport}`;

for (const transport of ['HTTP', 'stdio'] as const)
  describe(`the client's files over ${transport}`, () => {
    const over = transport === 'HTTP' ? 'http' : transport;
    let served: Served;
    before(async () => void (served = await serve(transport)));
    after(() => served?.[Symbol.asyncDispose]());

    for (const cell of cells.filter((it) => it.transport === transport))
      describe(`with MCP ${cell.version}, a client that has ${cell.set}`, () => {
        let project: Project;
        let connected: Connected;
        let folder: string;
        before(async () => {
          project = await makeProject();
          folder = await furnish(project, nameOf(cell));
          const manners = honest(project.root);
          const wish = { ...cell, name: nameOf(cell), capabilities: capabilitiesOf(cell), manners };
          connected = await connect(served, wish);
          if (rungOf(cell) === 'direct') await prove(connected, project.root, folder);
        });
        after(async () => {
          await connected?.[Symbol.asyncDispose]();
          await project?.[Symbol.asyncDispose]();
        });

        const asking = (tool: string, input: Record<string, unknown>) =>
          ask(connected, project.root, tool, input);

        it(`a text comes by ${rungOf(cell)} with its umlauts, and the second time from the cache`, async () => {
          const path = `${folder}/grüße an alle.txt`;
          const { data, text } = await asking('read_client_file', { path, ...viaOf(cell) });
          assert.equal(data?.text, umlauts, text);
          assert.equal(data.rung, rungOf(cell));
          assert.equal(data.path, path);
          assert.equal(data.encoding, 'utf-8');
          const again = await connected.call('read_client_file', { path, max_age_s: 3600 });
          assert.equal(again.data?.text, umlauts, again.text);
          assert.equal(again.data.cached, true);
          recordProof(`E10:${cell.version}-over-${over}`, 'E10:whichever-way-the-client-offers');
        });

        it(`bytes come by ${rungOf(cell, true)} as they are`, async () => {
          const path = `${folder}/data.bin`;
          const { data, text } = await asking('read_client_file', {
            path,
            binary: true,
            ...viaOf(cell, true),
          });
          assert.deepEqual(Buffer.from(data?.data ?? '', 'base64'), Buffer.from(binary), text);
          assert.equal(data.rung, rungOf(cell, true));
          assert.equal(data.size, binary.length);
          recordProof(`E10:${cell.version}-over-${over}`, 'E2:base64-decoded');
        });

        it(`a listing comes by ${rungOf(cell)}, with all below and the pattern applied`, async () => {
          const input = { path: folder, recursive: true, pattern: '*.txt', ...viaOf(cell) };
          const { data, text } = await asking('list_client_directory', input);
          assert.deepEqual(
            flattened(data?.entries).map(({ path, type, size }) => [path, type, size]),
            [
              [`${folder}/deep`, 'folder', null],
              [`${folder}/deep/er`, 'folder', null],
              [`${folder}/deep/er/it's.txt`, 'file', 8],
              [`${folder}/grüße an alle.txt`, 'file', Buffer.byteLength(umlauts)],
            ],
            text,
          );
          assert.equal(data.rung, rungOf(cell));
          recordProof(`E10:${cell.version}-over-${over}`, 'E10:whichever-way-the-client-offers');
        });

        it('a path outside is refused before anything is asked, and noted', async () => {
          const path = `${folder}/../../../${nameOf(cell)}`;
          for (const tool of ['read_client_file', 'list_client_directory']) {
            const { code, text } = await connected.call(tool, { path });
            assert.equal(code, 'path_refused', text);
            assert.match(text, /SecurityError/);
            const [line, ...more] = await served.audited(
              (it) => it.subject === path && it.operation === tool,
            );
            assert.deepEqual(more, []);
            assert.equal(line!.level, 'warning');
            assert.equal(line!.result, 'path_refused');
            assert.equal(line!.details?.['kind'], 'traversal');
            assert.match(line!.client ?? '', new RegExp(nameOf(cell)));
          }
          recordProof(
            'E2:path-judged-before-anything-is-asked',
            'E4:leaving-the-root-is-a-violation',
            'E8:attempted-path-of-a-violation',
          );
        });
      });
  });
