import { createLog } from '../../../platform/observability/log.ts';
import type { DocumentFormat, DocumentLayout, PreparedDocument, WrittenDocument } from '../document.ts';
import { openPandoc } from '../pandoc/pandoc.ts';
import { pngOf, svg } from '../pictures.testing.ts';
import { markdownReaderFormat } from '../sanitize/markdown.ts';
import { openTypst } from '../typst/typst.ts';
import { unpackArchive } from './archive.ts';
import { writeFormat, type DocumentEngines } from './formats.ts';

export const never: AbortSignal = new AbortController().signal;

export type TestEngines = DocumentEngines & AsyncDisposable;

/** One pair for all tests of a file: starting costs seconds. Everything is dated 2001-09-09. */
export function openEngines(): TestEngines {
  const common = {
    processes: 1,
    memoryBytes: 2 ** 30,
    idleSeconds: 60,
    epoch: 1_000_000_000,
    log: createLog('off'),
  };
  const pandoc = openPandoc({ ...common, command: null });
  const typst = openTypst({ ...common, fontFolders: [] });
  return {
    pandoc,
    typst,
    async [Symbol.asyncDispose]() {
      await Promise.all([pandoc[Symbol.asyncDispose](), typst[Symbol.asyncDispose]()]);
    },
  };
}

export const layout: DocumentLayout = {
  title: 'On <Things> & "more"',
  authors: ['Ada Byron', 'Carl Friedrich'],
  date: '2026-01-02',
  language: 'en-GB',
  paper: 'a4',
  marginMm: 20,
  fontSizePt: 10,
  toc: true,
  numberSections: true,
  pdfA: false,
};

/** A little of everything, as it stands after it was judged and cited. */
export const specimen = `---
title: On \\<Things\\> & "more"
author: [Ada Byron, Carl Friedrich]
date: 2026-01-02
lang: en-GB
abstract: An *abstract* of it all.
---

# First

A note.[^1] See (Doe 2020), \`code\`, Ωμέγα, Привет, and $x^2 + \\alpha$.

[^1]: What the note says.\\

$$ \\frac{1}{2} $$

## Tables

| Name  | Value |
|:------|------:|
| one   |  3.14 |

: A caption

\`\`\`python
for i in range(3): print(i)  # squares
\`\`\`

::: {.page-break}
:::

# Figures

![A plot](picture-1.png){width=50%}

# References {.unnumbered}

::: {#refs .references .csl-bib-body .hanging-indent}
::: {#ref-doe .csl-entry}
Doe, John. 2020. *On Things*.
:::
:::
`;

export const pictures = {
  png: { name: 'picture-1.png', called: 'plot.png', bytes: pngOf(40, 20) },
  svg: { name: 'picture-1.svg', called: 'plot.svg', bytes: svg },
};

export async function preparedFrom(
  { pandoc }: DocumentEngines,
  text: string,
  changes: Partial<PreparedDocument> = {},
): Promise<PreparedDocument> {
  const options = { from: markdownReaderFormat, to: 'json', standalone: true };
  const { output } = await pandoc.convert({ options, input: text }, never);
  return { ast: output, layout, pictures: [], referenceDoc: null, hasRareCharacters: false, ...changes };
}

export function writeSpecimen(format: DocumentFormat, engines: DocumentEngines): Promise<WrittenDocument> {
  return writeText(format, engines, specimen, { pictures: [pictures.png] });
}

export async function writeText(
  format: DocumentFormat,
  engines: DocumentEngines,
  text: string,
  changes: Partial<PreparedDocument> = {},
): Promise<WrittenDocument> {
  return writeFormat(format, await preparedFrom(engines, text, changes), engines, never);
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** The parts of an archive as text, by name. */
export async function partsOf(bytes: Uint8Array): Promise<ReadonlyMap<string, string>> {
  const parts = await unpackArchive(bytes, never);
  return new Map(parts.map(({ name, bytes }) => [name, textOf(bytes)]));
}
