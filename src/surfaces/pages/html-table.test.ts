import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readHtmlTable } from './html-table.ts';

describe('a table in HTML of code', () => {
  it('becomes rows of text, as pandas writes it', () => {
    const markup = `<div><style scoped>.dataframe tbody tr th { color: red }</style><table border="1" class="dataframe">
      <thead><tr style="text-align: right;"><th></th><th>name</th><th>n</th></tr></thead>
      <tbody><tr><th>0</th><td>a &lt;b&gt; &amp; c</td><td>1.5</td></tr><tr><th>1</th><td>&#128512;</td><td></td></tr></tbody>
      </table><p>2 rows</p></div>`;
    assert.deepEqual(readHtmlTable(markup), {
      head: ['', 'name', 'n'],
      body: [
        ['0', 'a <b> & c', '1.5'],
        ['1', '😀', ''],
      ],
    });
  });

  it('has no scripts, and none where there is no table', () => {
    assert.equal(readHtmlTable('<p>no</p><script>document.write("<tr><td>x")</script>'), null);
    assert.deepEqual(readHtmlTable('<table><tr><td><script>alert(1)</script>a<b>b</b>')?.body, [[]]);
    assert.deepEqual(readHtmlTable('<table><tr><td><script>alert(1)</script>a<b>b</b></td>')?.body, [['ab']]);
  });

  it('is bounded, however long it is', () => {
    const rows = readHtmlTable(`<table>${`<tr>${'<td>1</td>'.repeat(100)}</tr>`.repeat(2000)}</table>`)!;
    assert.equal(rows.body.length, 101);
    assert.ok(rows.body.every((row) => row.length === 40));
    for (const hostile of ['<a', '<td', '<tr>', '&#', '<td>&amp', '<<<<'])
      assert.doesNotThrow(() => readHtmlTable(`<table><tr>${hostile.repeat(100_000)}`), hostile);
  });
});
