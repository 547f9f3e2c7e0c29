/**
 * How long documents take that are refused, or ended: what is asked for is an answer 250 ms after the deadline at the
 * latest. Converters are warm where nothing ended them before; the deadline includes their start where it did.
 *
 *   node bench/documents-hostile.ts [SECONDS]
 */
import {
  endlessForPandoc,
  endlessForTypst,
  largeForPandoc,
} from '../test/behaviour/documents/endless.testing.ts';
import { loadConfig } from '../src/server/settings.ts';
import type { DocumentFormat } from '../src/features/documents/documents.ts';
import { isWorkcrateError } from '../src/platform/errors.ts';
import { createLog } from '../src/platform/observability/log.ts';
import { openDocuments } from '../src/features/documents/open.ts';
import { temporaryFolder } from './program.ts';
import { head, tell } from './runs-table.ts';

const seconds = Number(process.argv[2] ?? 3);
const mostLateMs = 250;
const row = (cell: string): string => `|${`${cell}|`.repeat(400)}\n`;

const texts: readonly [what: string, text: string, format: DocumentFormat][] = [
  ['an ordinary one', 'Just *this*.', 'pdf'],
  ['1500 brackets within each other', '['.repeat(1500) + ']'.repeat(1500), 'plain'],
  ['4 MB of list items with brackets', '- [\n'.repeat(1_000_000), 'plain'],
  ['4 MB of dollar signs and backticks', 'a[`$'.repeat(1_000_000), 'plain'],
  ['a file of the server as a picture', '![x](/etc/passwd)', 'plain'],
  ['6 brackets within each other, 2000 times', endlessForPandoc, 'plain'],
  ['a table of 160,000 cells', row('a') + row('-') + row('b').repeat(400), 'plain'],
  ['3 MB of words', largeForPandoc, 'plain'],
  ['a picture that takes Typst days', endlessForTypst, 'pdf'],
  ['4000 notes', Array.from({ length: 4000 }, (_, at) => `a^[note ${at}] `).join(''), 'pdf'],
];

using folder = temporaryFolder();
const { config } = loadConfig({ data: folder.path, 'document-timeout': String(seconds) }, {});
const documents = openDocuments({ config, library: () => null, log: createLog('off') });
await using _ = documents;
head('document', 'answer', `at most, with ${seconds} s`, 'kept');
for (const [what, text, format] of texts) {
  const start = performance.now();
  const result = await answerTo(text, format);
  const ms = Math.round(performance.now() - start);
  const most = seconds * 1000 + mostLateMs;
  tell({ what, seen: `${result} after ${ms} ms`, asked: `${most} ms`, ok: ms <= most });
}

async function answerTo(text: string, format: DocumentFormat): Promise<string> {
  const signal = new AbortController().signal;
  const pictures = { artifact: async () => null, file: async () => null };
  const request = {
    text,
    formats: [format],
    layout: {},
    bibliography: null,
    cites: true,
    referenceDoc: null,
  };
  const style = { name: null, content: null };
  try {
    const wanting = { signal, pictures, progress: () => {} };
    const { failures } = await documents.build({ user: 'local' }, { ...request, style }, wanting);
    return failures[0]?.code ?? 'built';
  } catch (error) {
    if (isWorkcrateError(error)) return error.code;
    throw error;
  }
}
