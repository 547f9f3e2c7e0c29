/**
 * The pages for readers: README, SECURITY, CONTRIBUTING and docs/. Links, paths and npm scripts exist, every tool is
 * listed, and README is short enough to be read. Does not check what the pages say.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { crateRulesPage } from '../../scripts/crate-rules-docs.ts';
import { errorsPage } from '../../scripts/errors-docs.ts';
import { metricsPage } from '../../scripts/metrics-docs.ts';
import { startServer } from '../server.testing.ts';

const root = join(import.meta.dirname, '../..');
const pages = [
  'README.md',
  'AGENTS.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: root }),
];
const readPage = (name: string): string => readFileSync(join(root, name), 'utf8');
const dropCodeBlocks = (text: string): string => text.replaceAll(/^```.*?^```/gms, '');
const dropCode = (text: string): string => dropCodeBlocks(text).replaceAll(/`[^`\n]+`/g, '');

/** The anchor that a heading gets on GitHub: lower case, punctuation dropped, spaces as dashes. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const readAnchors = (page: string): Set<string> =>
  new Set([...dropCodeBlocks(readPage(page)).matchAll(/^#+ (.+)$/gm)].map(([, title]) => toAnchor(title!)));

it('every link between the pages leads to a file and to a heading that exist', () => {
  const broken = pages.flatMap((page) =>
    [...dropCode(readPage(page)).matchAll(/\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, path, anchor]) => {
        const target = path === '' ? page : join(dirname(page), path!);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && target.endsWith('.md') && !readAnchors(target).has(anchor);
      })
      .map(([link]) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

it('every path of the checkout that a page names exists', () => {
  // Decisions name files as they were when they were made.
  const missing = pages
    .filter((page) => !page.includes('/decisions/'))
    .flatMap((page) =>
      [
        ...dropCodeBlocks(readPage(page)).matchAll(
          /`((?:src|test|scripts|bench|examples|packaging)\/[\w./-]+)`/g,
        ),
      ]
        .filter(([, path]) => !path!.includes('NAME') && !existsSync(join(root, path!)))
        .map(([, path]) => `${page}: ${path}`),
    );
  assert.deepEqual(missing, []);
});

it('every folder that the glossary names is in src', () => {
  const rows = [
    ...readPage('docs/reference/glossary.md').matchAll(/^\| (?!word |-)([^|]+?) +\|.*\| ([^|]+?) +\|$/gm),
  ];
  assert.ok(rows.length >= 40, `${rows.length} words`);
  const places = rows.flatMap(([, word, cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].map(([, path]) => [word, path!]),
  );
  assert.deepEqual(
    places.filter(([, path]) => !existsSync(join(root, path!.startsWith('packages/') ? '' : 'src', path!))),
    [],
  );
});

it('the files and functions that the pages on extending name are in the source', () => {
  const files = globSync('{src,packages,test,scripts}/**/*.ts', { cwd: root });
  const source = files.map((file) => readPage(file)).join('\n');
  for (const page of ['docs/write-a-tool.md', 'docs/write-a-backend.md']) {
    const text = dropCodeBlocks(readPage(page));
    for (const [, name] of text.matchAll(/`([\w.-]+\.ts)`/g))
      assert.ok(
        files.some((file) => file.endsWith(`/${name}`)) || name === 'NAME.test.ts',
        `${page}: ${name}`,
      );
    for (const [, name] of text.matchAll(/`([a-z]+[A-Z]\w*)[(`]/g))
      assert.ok(new RegExp(`\\b${name}\\b`).test(source), `${page}: ${name}`);
  }
});

it('every npm script that a page names exists', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };
  const named = pages
    .filter((page) => !page.includes('/decisions/'))
    .flatMap((page) =>
      [...readPage(page).matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => ({ page, name: name! })),
    );
  assert.ok(named.length > 5);
  assert.deepEqual(
    named.filter(({ name }) => !Object.hasOwn(scripts, name)),
    [],
  );
});

it('docs/reference/tools.md lists exactly the tools that a server offers', async () => {
  // A setting of a package of its own, which the type of the server's does not have.
  const ofZotero = { zoteroLibrary: 'users/0' };
  await using server = await startServer({ ...ofZotero, tools: ['all'] });
  const { tools } = await server.client.listTools();
  const listed = [...readPage('docs/reference/tools.md').matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name!);
  assert.deepEqual(listed.toSorted(), tools.map(({ name }) => name).toSorted());
});

it('docs/reference/crate-rules.md is what the rules of validation give', () => {
  const remedy = 'it is not what the rules give: run node scripts/crate-rules-docs.ts';
  assert.equal(readPage('docs/reference/crate-rules.md'), crateRulesPage(), remedy);
});

it('docs/reference/errors.md is what the error codes give', () => {
  const remedy = 'it is not what src/platform/error-codes.json gives: run node scripts/errors-docs.ts';
  assert.equal(readPage('docs/reference/errors.md'), errorsPage(), remedy);
});

it('docs/reference/metrics.md is what the metrics give', () => {
  const remedy = 'it is not what the metrics in src/ give: run node scripts/metrics-docs.ts';
  assert.equal(readPage('docs/reference/metrics.md'), metricsPage(), remedy);
});

it('README has at most 700 words, and names both commands', () => {
  const text = readPage('README.md');
  const words = text.split(/\s+/).length;
  assert.ok(words <= 700, `${words} words`);
  for (const command of ['npm ci && npm start', 'npm ci && npm test']) assert.ok(text.includes(command));
});

it('the list of decisions has every page under its title', () => {
  const list = readPage('docs/decisions/README.md');
  for (const page of pages.filter((name) => /decisions\/\d/.test(name))) {
    const [, number, title] = /^# (\d{3}): (.+)$/m.exec(readPage(page)) ?? [];
    assert.ok(number && title, `${page}: the first line has to be "# NNN: title"`);
    assert.match(
      list,
      new RegExp(`^\\| ${number} \\| ${RegExp.escape(`[${title}](${page.split('/').at(-1)})`)}`, 'm'),
      `docs/decisions/README.md needs a line for ${page}`,
    );
  }
});
