import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { backends, upload } from '../../server.testing.ts';
import { metadata, startCrateServer, zipFixture, type CrateServer } from './crates.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

/** What every link says of its file, and of what kind it is. */
const fields = {
  filename: 'string',
  size: 'number',
  sha256: 'string',
  mediaType: 'string',
  token: 'string',
  downloadUrl: 'string',
  expiresAt: 'string',
} as const;

type Link = Record<Exclude<keyof typeof fields, 'downloadUrl'>, unknown> & { readonly downloadUrl: string };

/** Every object within a result that has a URL of a download. */
function findLinks(value: unknown): Link[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap(findLinks);
  return 'downloadUrl' in value ? [value as Link, ...below] : below;
}

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
}

/** Every schema within an output schema that has a URL of a download. */
function findLinkSchemas(value: unknown): Schema[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap(findLinkSchemas);
  const { properties } = value as Schema;
  return properties !== undefined && 'downloadUrl' in properties ? [value as Schema, ...below] : below;
}

const kindsOf = ({ type, anyOf = [] }: Schema): string[] => [
  ...(type === undefined ? [] : [type].flat()),
  ...anyOf.flatMap(kindsOf),
];

/** What every file here that a test makes consists of. */
const mark = 'bytes-of-the-file '.repeat(3000);

describe(`the shape of links, on ${backends}`, () => {
  let server: CrateServer;
  let ids: Record<'file' | 'zip' | 'folder', string>;
  before(async () => {
    server = await startCrateServer(
      {
        'zips/workflow.zip': zipFixture('workflow-0.2.0.zip'),
        'folder/ro-crate-metadata.json': metadata('A folder'),
        'folder/large.txt': mark,
      },
      noSandbox === false ? { sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 1 } : {},
    );
    await server.call('sync_index', {});
    const { data } = await server.call('search_index', { query: '', mode: 'keyword' });
    const crateAt = (part: string): string =>
      data.results.find((one: { resource_locator: string }) => one.resource_locator.includes(part)).crate_id;
    const file = await upload(server, 'marked.txt', mark);
    ids = { file, zip: crateAt('workflow.zip'), folder: crateAt('/folder') };
  });
  after(() => server?.[Symbol.asyncDispose]());

  it('every tool whose answer can hold a link describes it by the same seven fields', async () => {
    const { tools } = await server.client.listTools();
    const withLinks = tools.filter(({ outputSchema }) => findLinkSchemas(outputSchema).length > 0);
    const names = withLinks.map(({ name }) => name).toSorted();
    assert.deepEqual(names, [...Object.keys(calls()), 'list_client_directory'].toSorted());
    for (const { name, outputSchema } of withLinks)
      for (const { properties = {} } of findLinkSchemas(outputSchema))
        for (const [field, kind] of Object.entries(fields)) {
          const kinds = kindsOf(properties[field] ?? {});
          const fits = kinds.includes(kind) || (kind === 'number' && kinds.includes('integer'));
          assert.ok(fits, `${name}: ${field} is ${kinds.join(' or ') || 'not there'}`);
        }
    recordProof('C1:one-shape-over-all-tools');
  });

  /** A call of each tool that gives links, each of a file that is too large for the answer. */
  const calls = (): Record<string, () => Promise<Record<string, unknown>>> => ({
    share_file: async () => ({ file_id: ids.file }),
    bundle_files: async () => ({ file_ids: [ids.file] }),
    list_crate_files: async () => ({ crate_id: ids.zip }),
    read_crate_file: async () => ({ crate_id: ids.folder, path: 'large.txt' }),
    download_crate: async () => ({ crate_id: ids.zip }),
    pack_crate: async () => ({ file_ids: [ids.file], title: 'Packed' }),
    build_exports_content: async () => ({ documentContent: mark, formats: ['plain', 'markdown'] }),
    read_client_file: async () => {
      const path = 'docs/given.bin';
      // No text, so that it is not shown.
      const content = Buffer.from(`\0\0\0${mark}`).toString('base64');
      const kept = await server.call('guide_cache_file', { path, content, binary: true });
      assert.equal(kept.failed, false, kept.text);
      return { path };
    },
    execute_code: async () => ({ language: 'bash', code: printing }),
    execute_bash: async () => ({ command: printing }),
    send_to_session: async () => ({ session_id: await startSession(), code: printing }),
    manage_session: async () => {
      const session_id = await startSession();
      await server.call('send_to_session', { session_id, code: 'echo said' });
      return { session_id, action: 'export' };
    },
    get_artifact: async () => {
      const made = await server.call('execute_bash', { command: `${printing} > /artifacts/marked.txt` });
      assert.equal(made.failed, false, made.text);
      return { name: 'marked.txt' };
    },
  });
  const startSession = async (): Promise<unknown> => {
    const { data, text } = await server.call('start_session', { language: 'bash' });
    assert.ok(data.session_id, text);
    return data.session_id;
  };
  const printing = `for i in $(seq 3000); do printf '%s' 'bytes-of-the-file '; done`;
  /** What they link is in a source of crates: if that is a bucket, its sha256 is not known without reading all of it. */
  const inSource = new Set(['read_crate_file', 'download_crate']);
  const needSandbox = new Set([
    'execute_code',
    'execute_bash',
    'send_to_session',
    'manage_session',
    'get_artifact',
  ]);

  for (const [tool, input] of Object.entries(calls()))
    it(
      `${tool} gives the same seven fields, a resource_link and the curl command, and no byte of the file`,
      { skip: needSandbox.has(tool) && noSandbox },
      async () => {
        const { failed, text, data, raw } = await server.call(tool, await input());
        assert.equal(failed, false, text);
        const links = findLinks(data);
        assert.ok(links.length > 0, JSON.stringify(data).slice(0, 2000));
        for (const link of links) {
          for (const [field, kind] of Object.entries(fields)) {
            if (field === 'sha256' && inSource.has(tool) && link.sha256 === null) continue;
            assert.equal(typeof link[field as keyof Link], kind, `${field}: ${JSON.stringify(link)}`);
          }
          const { downloadUrl, filename, mediaType, size, token, expiresAt } = link;
          assert.equal(downloadUrl, `${server.url}/files/${String(token)}`);
          assert.ok(Date.parse(String(expiresAt)) > Date.now());
          const resource = { type: 'resource_link', uri: downloadUrl, name: filename };
          assert.ok(
            raw.content.some((block) => isLike(block, { ...resource, mimeType: mediaType, size })),
            JSON.stringify(raw.content),
          );
          const texts = raw.content.map((block) => (block as { text?: string }).text ?? '').join('\n');
          assert.match(texts, new RegExp(`curl -fsSL (-o \\S+|-OJ) ${downloadUrl}`));
          const bytes = Buffer.from(await (await fetch(downloadUrl)).arrayBuffer());
          assert.equal(bytes.length, size);
        }
        const whole = JSON.stringify(raw);
        // A run shows the head and the tail of its output; more of it than that is in no answer.
        const showsOutput = tool.startsWith('execute_') || tool === 'send_to_session';
        const most = showsOutput ? 10_000 : 100;
        assert.ok(!whole.includes(mark.slice(0, most)), 'the bytes are in the answer');
        assert.ok(!whole.includes(Buffer.from(mark).toString('base64').slice(0, 100)), 'as base64, too');
        recordProof(
          'C1:one-shape-over-all-tools',
          'C1:same-as-resource-link',
          'C1:no-bytes-unless-asked-for',
        );
      },
    );
});

const isLike = (block: unknown, wanted: Record<string, unknown>): boolean =>
  Object.entries(wanted).every(([name, value]) => (block as Record<string, unknown>)[name] === value);
