import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { parseAst } from '../sanitize/ast.ts';
import { citeDocument } from './cite.ts';
import { works } from './examples.testing.ts';
import { never, openTestPandoc } from './pandoc.testing.ts';
import { rememberCitations } from './remember.ts';
import { readCitationStyle } from './styles.ts';

const pandoc = openTestPandoc();
after(() => pandoc[Symbol.asyncDispose]());

/** Counts what reaches the real one. */
function countConversions() {
  const count = { citations: 0, others: 0 };
  const counting: Pandoc = {
    ...pandoc,
    convert(job, signal) {
      count[job.options['citeproc'] === true ? 'citations' : 'others']++;
      return pandoc.convert(job, signal);
    },
  };
  return { count, remembering: rememberCitations(counting) };
}

test('the same citations are written once, and others, other references or another style anew', async () => {
  const { count, remembering } = countConversions();
  const cite = async (text: string, references = works, style: string | null = null) => {
    const options = { from: 'markdown', to: 'json' };
    const { output } = await remembering.convert({ options, input: text }, never);
    return citeDocument(remembering, {
      ast: parseAst(output),
      references,
      style,
      language: 'en',
      signal: never,
    });
  };
  const first = await cite('One [@book] and [@nobody].');
  assert.deepEqual(await cite('One [@book] and [@nobody].'), first);
  // The text around them does not count.
  await cite('Two, and *quite* another [@book]; also [@nobody].');
  assert.deepEqual(count, { citations: 1, others: 3 });
  await cite('One [@book] and [@article].');
  const changed = works.map((work) => ({ ...work, title: 'Changed' }));
  const other = await cite('One [@book] and [@nobody].', changed);
  assert.ok(JSON.stringify(other.ast).includes('Changed') && !JSON.stringify(first.ast).includes('Changed'));
  await cite(
    'One [@book] and [@nobody].',
    works,
    await readCitationStyle({ name: 'apa', content: null, folder: null }),
  );
  assert.equal(count.citations, 4);
});
