import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { unpackArchive } from '../../../src/features/documents/formats/archive.ts';
import {
  never,
  openEngines,
  type TestEngines,
} from '../../../src/features/documents/formats/formats.testing.ts';
import { allowedTexCommands } from '../../../src/features/documents/formats/maths.ts';
import { pngOf } from '../../../src/features/documents/pictures.testing.ts';
import {
  readDocument,
  createBibliographyCache,
  writeDocument,
} from '../../../src/features/documents/worker/worker.ts';
import { nastyBibliography, nastyDocument } from './nasty.testing.ts';

/** Text that is code in TeX, or closes what stands around it. Quotes are YAML's and Markdown's. */
const hostile = [
  '\\input{/etc/passwd}',
  '\\immediate\\write18{id}',
  '\\directlua{os.execute(1)}',
  '\\catcode`\\%=12',
  '\\csname input\\endcsname',
  '^^5cinput{x}',
  '\\^^69nput',
  '}\\input{x}{',
  '\\end{verbatim}\\input{x}',
  '\\end{Verbatim}\\input{x}',
  '\\end{Highlighting}\\input{x}',
  '\\)\\input{x}\\(',
  '\\]\\input{x}\\[',
  '%\n\\input{x}',
  '\\\\\\input{x}',
  '\\begin{filecontents}{x}',
  '\\usepackage{x}',
  '\\def\\x{y}',
  '\\special{x}',
  '|\\input|',
  'a~b&c#d_e',
  '\\alpha',
] as const;

/** A document that has such text in every place that a document has. */
function documentWith(at: (place: number) => string): string {
  const line = (place: number): string => at(place).replaceAll('\n', ' ');
  const yaml = (place: number): string => JSON.stringify(line(place));
  const url = (place: number): string => `https://a.b/${encodeURI(line(place)).replaceAll(/[()]/g, '')}`;
  return `---
title: ${yaml(0)}
subtitle: ${yaml(1)}
author: [${yaml(2)}]
date: ${yaml(3)}
abstract: ${yaml(4)}
keywords: [${yaml(5)}]
reference-section-title: ${yaml(6)}
---

# ${line(7)} {#${line(8).replaceAll(/[^\w^\\]/g, '')}}

${line(9)} *${line(10)}* ^${line(11)}^ $${line(12)}$ $\\text{${line(13)}}$ $\\frac{${line(14)}}{2}$

$$
${at(15)}
$$

\`${line(16)}\` \`${line(17)}\`{.python} [${line(18)}](${url(19)} "${line(20).replaceAll('"', '')}") <${url(21)}>

~~~
${at(22)}
~~~

~~~ {.latex .numberLines startFrom="${line(23).replaceAll('"', '')}"}
${at(24)}
~~~

| ${line(25)} | b |
|---|---|
| $${line(26).replaceAll('|', '')}$ | ${line(27).replaceAll('|', '')} |

: ${line(28)} {#t-${line(29).replaceAll(/[^\w^\\]/g, '')}}

A note.[^1] As [@one, ${line(30).replaceAll(/[[\]]/g, '')}] says.

[^1]: ${line(31)}

    ~~~
    ${line(32)}
    ~~~

${line(33).replaceAll(':', '')}
:   ${line(34)}

![${line(35)}](dot.png "${line(36).replaceAll('"', '')}"){width="${line(37).replaceAll('"', '')}"}
`;
}

const bibliographyWith = (at: (place: number) => string): string =>
  JSON.stringify([
    {
      id: 'one',
      type: 'article-journal',
      title: `${at(40)} $${at(41)}$ <i>${at(42)}</i>`,
      author: [{ family: at(43), given: at(44) }],
      'container-title': at(45),
      note: at(46),
      URL: `https://a.b/${encodeURI(at(47))}`,
      DOI: `10.1000/${at(48)}`,
      issued: { 'date-parts': [[2000]] },
    },
  ]);

const bibtexWith = (at: (place: number) => string): string => `@article{one,
  title = {A title $${at(41).replaceAll(/[{}\n]/g, '')}$ and more},
  author = {Doe, J.}, journal = {$${at(42).replaceAll(/[{}\n]/g, '')}$}, year = 2000 }`;

const places = 50;
const wordsIn = (tex: string): Set<string> =>
  new Set([...tex.matchAll(/\\\\|\\([A-Za-z]+)/g)].flatMap(([, word]) => (word === undefined ? [] : [word])));

describe('a document as LaTeX', () => {
  const engines: TestEngines = openEngines();
  after(() => engines[Symbol.asyncDispose]());
  const reading = { pandoc: engines.pandoc, bibliographies: createBibliographyCache() };

  async function texOf(text: string, bibliography: string): Promise<string> {
    const request = {
      text,
      mostBytes: 10 ** 6,
      bibliography: { text: bibliography, format: null },
      layout: {},
    };
    const read = await readDocument(reading, request, never);
    const write = {
      read,
      found: new Map([['dot.png', pngOf(1, 1)]]),
      references: read.references,
      style: null,
      formats: ['latex'],
      referenceDoc: null,
    } as const;
    const { built, failures } = await writeDocument(engines, write, {
      signal: never,
      report: () => {},
    });
    assert.deepEqual(failures, []);
    const { bytes, extension } = built[0]!.written;
    const [document] = extension === '.tex' ? [{ bytes }] : await unpackArchive(bytes, never);
    return Buffer.from(document!.bytes).toString();
  }

  /** Those that Pandoc writes by itself, for the same document without a word that means anything to TeX. */
  const ownWords = async (): Promise<Set<string>> => {
    const signs = '\\ { } [ ] ^ ~ * _ # $ % & < > | " \' ` - – — … “ ” ‘ ’ €';
    const escaped = signs.replaceAll(/[[\]\\{}^~*_#$%&<>|"'`]/g, '\\$&');
    const more = '# *A* $x$ `b` ~c~ ^d^\n\n1. e\n2. f\n\n- g\n\n> h\n\n---\n';
    const wide = `| a | b |\n|---|---|\n| ${'word '.repeat(80)} | b |\n`;
    const plain = `${documentWith(() => 'word')}\n\n${more}\n\n${wide}\n\n${escaped}\n\n\`${signs.replaceAll('`', '')}\`\n\n~~~ {.latex}\n\\end{x} % $y$ ${signs}\n~~~\n`;
    return wordsIn(
      await texOf(
        plain,
        bibliographyWith(() => 'word'),
      ),
    );
  };

  it('holds no command of TeX but those of Pandoc and of formulas, wherever somebody puts one', async () => {
    const allowed = (await ownWords()).union(allowedTexCommands);
    assert.ok(!allowed.has('input') && !allowed.has('write'), [...allowed].join(' '));
    const texts = fc.array(fc.constantFrom(...hostile), { minLength: 1, maxLength: 2 });
    const drawn = fc.sample(fc.array(texts, { minLength: places, maxLength: places }), 12);
    for (const [round, list] of drawn.entries()) {
      const at = (place: number): string => list[place]!.join(round % 2 === 0 ? ' ' : '');
      const bibliography = round % 3 === 0 ? bibtexWith(at) : bibliographyWith(at);
      const tex = await texOf(documentWith(at), bibliography);
      const strange = wordsIn(tex).difference(allowed);
      assert.deepEqual([...strange], [], `${documentWith(at)}\n${bibliography}`);
      assert.equal(/.{0,80}\^\^.{0,40}/.exec(tex)?.[0], undefined);
    }
  });

  it('so does a document that names a file and an address wherever it can', async () => {
    const baits = { file: '/etc/passwd', url: 'http://127.0.0.1:1/bait' };
    const tex = await texOf(nastyDocument(baits), nastyBibliography(baits));
    const strange = wordsIn(tex).difference((await ownWords()).union(allowedTexCommands));
    assert.deepEqual([...strange], []);
  });

  it('what is no formula is there as text, and a warning names it', async () => {
    const tex = await texOf('Look: $\\input{/etc/passwd}$ and $\\alpha$.', '[]');
    assert.ok(tex.includes('\\textbackslash input\\{/etc/passwd\\}'), tex);
    assert.ok(tex.includes('\\(\\alpha\\)'));
  });
});
