import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { renderCode } from './highlight.ts';

const show = async (code: string, language = 'python'): Promise<string> =>
  (await renderCode(code, language)).toString();

/** What a browser would show: the text without its elements. */
const readText = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

describe('code with colours', () => {
  it('tells comments, strings, numbers and keywords apart', async () => {
    const python = await show(`def f(x):  # why\n    return f"{x} is" + 'it' * 0x1F`);
    assert.match(python, /<span class="hl-keyword">def<\/span> f\(x\)/);
    assert.match(python, /<span class="hl-comment"># why<\/span>/);
    assert.match(python, /<span class="hl-string">&quot;\{x\} is&quot;<\/span>/);
    assert.match(python, /<span class="hl-number">0x1F<\/span>/);
    const node = await show('const a = `two\nlines`; // end\n/* more */ let b', 'node');
    assert.match(node, /<span class="hl-string">`two\nlines`<\/span>/);
    assert.match(
      node,
      /<span class="hl-comment">\/\* more \*\/<\/span> <span class="hl-keyword">let<\/span>/,
    );
    const bash = await show('for f in a#b; do echo "$f" $HOME; done # all', 'bash');
    assert.match(bash, /a#b;/);
    assert.match(bash, /<span class="hl-variable">\$HOME<\/span>/);
    assert.match(bash, /<span class="hl-comment"># all<\/span>/);
  });

  it('shows any text exactly, and none of it as an element', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        '"',
        "'",
        '`',
        '"""',
        '#',
        '//',
        '/*',
        '*/',
        '\\',
        '\n',
        '<script>',
        '&amp;',
        '$',
        '0x',
      ),
    );
    const code = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(code, fc.constantFrom('python', 'node', 'bash', 'cobol'), async (text, language) => {
        const markup = await show(text, language);
        assert.equal(readText(markup), text);
        assert.doesNotMatch(markup, /<(?!\/?code>|\/?span\b)/);
      }),
    );
  });

  it('goes on through hostile code, and makes at most 4,000 elements of it', async () => {
    for (const start of ['"', '"""', "'''a", '/*', '\\', '1 ', '"\\', '$', '`${', '# ', '0x'])
      for (const language of ['python', 'node', 'bash']) {
        const markup = await show(start.repeat(500_000 / start.length), language);
        assert.ok(markup.split('<span').length <= 4001, start);
      }
  });
});
