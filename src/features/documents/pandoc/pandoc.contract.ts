import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Pandoc, PandocJob } from './pandoc.ts';

export interface PandocFactory {
  /** One with memory for ordinary documents. */
  make(): Pandoc;
  /** One that runs out of memory at a few megabytes of text. */
  makeSmall(): Pandoc;
}

/** What a backend lacks, each with its reason. */
export interface PandocLacks {
  readonly typst?: string;
  readonly walls?: string;
}

const never = new AbortController().signal;

/** What never ends by itself. */
const endless: PandocJob = {
  options: { from: 'markdown', to: 'plain' },
  input: `${'['.repeat(30)}a${']'.repeat(30)}`,
};

const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';

/** What every Pandoc must do. A backend's test supplies factories and nothing else. */
export function pandocContract(name: string, factory: PandocFactory, lacks: PandocLacks = {}): void {
  describe(`pandoc contract: ${name}`, () => {
    let pandoc: Pandoc;
    before(() => void (pandoc = factory.make()));
    after(() => pandoc[Symbol.asyncDispose]());

    const convert = (
      options: PandocJob['options'],
      input: PandocJob['input'],
      files: PandocJob['files'] = {},
    ) => pandoc.convert({ options, input, files }, never);

    const textOf = async (...job: Parameters<typeof convert>): Promise<string> =>
      Buffer.from((await convert(...job)).output).toString();

    it('reads Markdown into a tree, and writes the tree', async () => {
      const tree = await textOf({ from: 'markdown', to: 'json' }, 'Grüße *an* alle');
      assert.match(tree, /"pandoc-api-version":.*"Emph"/);
      assert.equal(await textOf({ from: 'json', to: 'html' }, tree), '<p>Grüße <em>an</em> alle</p>\n');
    });

    it('gives the bytes of a format that is no text', async () => {
      const { output } = await convert({ from: 'markdown', to: 'docx' }, 'a');
      assert.equal(Buffer.from(output.subarray(0, 2)).toString(), 'PK');
    });

    it('tells its version', async () => {
      assert.match(await pandoc.version(never), /^\d+(?:\.\d+)+$/);
    });

    it('writes Typst', { skip: lacks.typst }, async () => {
      assert.equal(await textOf({ from: 'markdown', to: 'typst' }, '*a*'), '#emph[a]\n');
    });

    it('reads the files that it is given, by their names', async () => {
      const options = { from: 'markdown', to: 'html', standalone: true, 'embed-resources': true };
      const files = { 'picture-1.png': Buffer.from(picture, 'base64') };
      assert.ok((await textOf(options, '![a](picture-1.png)', files)).includes(picture));
    });

    it('files of one conversion are not there in the next', async () => {
      const options = { from: 'markdown', to: 'html', 'include-in-header': ['x.txt'], standalone: true };
      assert.match(await textOf(options, 'a', { 'x.txt': 'of the first' }), /of the first/);
      await assert.rejects(convert(options, 'a'), { code: 'document_invalid' });
    });

    for (const path of ['/etc/passwd', '../../../../../../../etc/passwd', import.meta.filename])
      it(
        `reads no other file: ${path.startsWith('.') ? path : basename(path)}`,
        { skip: lacks.walls },
        async () => {
          const options = { from: 'markdown', to: 'plain', standalone: true };
          const given = { ...options, 'include-in-header': [path] };
          const text = await textOf(given, 'a').catch((error: WorkcrateError) => error.code);
          assert.equal(text, 'document_invalid');
          const embedding = { ...options, to: 'html', 'embed-resources': true };
          const page = await textOf(embedding, `![a](${path})`).catch((error: WorkcrateError) => error.code);
          assert.ok(!/root:|data:/.test(page), page);
        },
      );

    it('opens no connection', { skip: lacks.walls }, async (t) => {
      let connections = 0;
      const server = createServer((socket) => void (connections++, socket.destroy())).listen(0, '127.0.0.1');
      t.after(() => server.close());
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.png`;
      const { warnings } = await convert({ from: 'markdown', to: 'docx' }, `![a](${url})`);
      assert.deepEqual([warnings.map(({ type }) => type), connections], [['CouldNotFetchResource'], 0]);
    });

    it('a key without an entry is a warning; lines of less weight are none', async () => {
      const options = { from: 'markdown', to: 'plain', citeproc: true, bibliography: ['refs.json'] };
      const files = { 'refs.json': '[{"id":"here","type":"book","title":"T"}]' };
      const { output, warnings } = await convert(options, '[@here; @gone]', files);
      assert.match(Buffer.from(output).toString(), /gone\?/);
      assert.deepEqual(
        warnings.map(({ type }) => type),
        ['CiteprocWarning'],
      );
      assert.match(warnings[0]!.message, /citation gone not found$/);
    });

    const refusals: [what: string, from: string, input: string, line: number][] = [
      ['BibTeX', 'bibtex', '@article{a,\n title=x y z\n}\n', 2],
      ['YAML', 'markdown', '---\ntitle: [a\n---\n\ntext', 3],
    ];
    for (const [what, from, input, line] of refusals)
      it(`what is no ${what} is refused, with its line`, async () => {
        const to = from === 'bibtex' ? 'csljson' : 'json';
        await assert.rejects(convert({ from, to }, input), { code: 'document_invalid', details: { line } });
      });

    it('a style that is no XML, and a format that there is not, are refused', async () => {
      const styled = { from: 'markdown', to: 'plain', citeproc: true, csl: 'style.csl' };
      await assert.rejects(convert(styled, 'a', { 'style.csl': '\nhello' }), { code: 'document_invalid' });
      await assert.rejects(convert({ from: 'markdown', to: 'nonsense' }, 'a'), {
        code: 'document_invalid',
        message: /nonsense/,
      });
    });

    it('bytes that are no UTF-8 are read as Latin-1, with a warning', async () => {
      const { output, warnings } = await convert({ from: 'markdown', to: 'plain' }, Uint8Array.of(65, 228));
      assert.equal(Buffer.from(output).toString().trim(), 'Aä');
      assert.equal(warnings[0]?.type, 'NotUTF8Encoded');
    });

    for (const bad of ['../x', '/x', 'a/b', '.hidden', 'stdin', ''])
      it(`a file cannot be called ${JSON.stringify(bad)}`, async () => {
        await assert.rejects(convert({ from: 'markdown', to: 'html' }, 'a', { [bad]: 'x' }), {
          message: /is not a valid name/,
        });
      });

    it('several conversions at once each have their own result', async () => {
      const texts = ['one', 'two', 'three', 'four', 'five'];
      const results = await Promise.all(texts.map((text) => textOf({ from: 'markdown', to: 'plain' }, text)));
      assert.deepEqual(
        results.map((text) => text.trim()),
        texts,
      );
    });

    it('one that is stopped in the middle fails with the reason, and the next one works', async () => {
      const stop = new AbortController();
      const reason = new WorkcrateError('document_timeout', 'It took too long.');
      const rejected = assert.rejects(pandoc.convert(endless, stop.signal), reason);
      // Long enough for it to be at work.
      await pause(300);
      stop.abort(reason);
      await rejected;
      await assert.rejects(pandoc.convert(endless, stop.signal), reason);
      assert.equal((await textOf({ from: 'markdown', to: 'plain' }, 'next')).trim(), 'next');
    });

    it('one that takes too much memory fails and says so', async () => {
      await using small = factory.makeSmall();
      const big = { options: { from: 'markdown', to: 'plain' }, input: 'a'.repeat(10_000_000) };
      await assert.rejects(small.convert(big, never), { code: 'document_failed', message: /memory/ });
    });

    it('one that is closed takes no more, and what is under way ends', async () => {
      const closing = factory.makeSmall();
      const rejected = assert.rejects(closing.convert(endless, never), { code: 'stopping' });
      await pause(100);
      await closing[Symbol.asyncDispose]();
      await rejected;
      await assert.rejects(closing.convert(endless, never), { code: 'stopping' });
    });
  });
}
