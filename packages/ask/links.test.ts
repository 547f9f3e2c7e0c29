import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLinkCollection } from './links.ts';

const url = (letter: string): string => `http://127.0.0.1:9180/files/${letter.repeat(43)}`;
const text = (words: string) => ({ type: 'text' as const, text: words });

describe('links in results', () => {
  it('are found in typed values at any depth, in their order, each once', () => {
    const links = createLinkCollection();
    const artifacts = [
      { downloadUrl: url('a'), filename: 'a.pdf' },
      { downloadUrl: url('b'), filename: 'b.docx' },
    ];
    links.addFrom({ structuredContent: { artifacts }, content: [] });
    links.addFrom({ structuredContent: { downloadUrl: url('a'), filename: 'a.pdf' }, content: [] });
    assert.deepEqual(links.list(), [
      { url: url('a'), filename: 'a.pdf' },
      { url: url('b'), filename: 'b.docx' },
    ]);
  });

  it('are found in texts only where there is no typed value: the output of code is text', () => {
    const links = createLinkCollection();
    const content = [text(`Fetch it: curl -o a.txt ${url('a')}, or ${url('b')}x`)];
    links.addFrom({ structuredContent: { stdout: url('c') }, content });
    assert.deepEqual(links.list(), []);
    links.addFrom({ content });
    assert.deepEqual(links.list(), [{ url: url('a'), filename: null }]);
  });

  it('get the name of a link to a resource, whichever comes first', () => {
    const links = createLinkCollection();
    const resource = { type: 'resource_link' as const, uri: url('a'), name: 'a.txt' };
    links.addFrom({ content: [text(url('a')), resource] });
    links.addFrom({ content: [{ ...resource, uri: 'workcrate://files/file_1' }] });
    assert.deepEqual(links.list(), [{ url: url('a'), filename: 'a.txt' }]);
  });

  it('are bounded, and values that are no links do no harm', () => {
    const links = createLinkCollection();
    const many = Array.from({ length: 5000 }, (_, at) => ({ downloadUrl: `http://h/${at}` }));
    links.addFrom({ structuredContent: { many } });
    assert.equal(links.list().length, 200);
    const strange = createLinkCollection();
    for (const downloadUrl of ['javascript:alert(1)', 7, null, {}, `http://h/${'x'.repeat(5000)}`])
      strange.addFrom({ structuredContent: { downloadUrl } });
    assert.deepEqual(strange.list(), []);
  });
});
