import assert from 'node:assert/strict';
import { it } from 'node:test';
import { documentOf, element, elements } from './xml.ts';

it('finds the text of an element, with attributes or without, and takes no longer name for it', () => {
  assert.equal(element('<Keys>a</Keys><Key>b &amp; &#x263a;</Key><Key>c</Key>', 'Key'), 'b & ☺');
  assert.equal(element('<a><Key xmlns="urn:x"\n b="c">d</Key></a>', 'Key'), 'd');
  assert.equal(element('<Key></Key>', 'Key'), '');
  assert.equal(element('<Key><Key>x</Key></Key>', 'Key'), 'x');
  for (const none of ['', '<Key>', '<Key', '<Key>a', '<Key/>', '<Key>a</Keys>', '</Key>'])
    assert.equal(element(none, 'Key'), null, none);
});

it('finds each element of a name', () => {
  assert.deepEqual(elements('<Part>1</Part> <Parts>x</Parts><Part a="b"><N>2</N></Part><Part>', 'Part'), [
    '1',
    '<N>2</N>',
  ]);
  assert.deepEqual(elements('<Part></Part', 'Part'), []);
});

// Where the time grew with the square of the length, any of these would take an hour and more.
it('gets through 4 MB of what a hostile store may send', { timeout: 60_000 }, () => {
  const length = 4 * 1024 * 1024;
  const pieces = [
    '<Code ',
    '<Code>',
    '<Code>a',
    '<Code a="',
    '<Code></Code ',
    '<',
    '<Code',
    ' ',
    '</Code>',
    '&',
  ];
  for (const piece of pieces) {
    const text = piece.repeat(length / piece.length);
    assert.equal(element(text, 'Code'), null, piece);
    assert.deepEqual(elements(text, 'Code'), [], piece);
    assert.throws(() => documentOf(text, 'Code'), { code: 'storage_failed' });
    assert.throws(() => documentOf(`<Code>${text}`, 'Codes'), { code: 'storage_failed' });
  }
  const blanks = ' '.repeat(length);
  assert.equal(documentOf(`${blanks}<a>${blanks}</a>${blanks}`, 'a').length, 3 * length + 7);
});

it('takes a whole document of the root that is asked for, and nothing else', () => {
  const whole = [
    '<R></R>',
    '<R/>',
    '<R />\n',
    '<?xml version="1.0" encoding="UTF-8"?>\n<R xmlns="urn:x"><a/></R>\n',
    '\uFEFF<?xml version="1.0"?><R><a/></R>',
    '\n\n<?xml version="1.0"?>\n  <R></R>',
  ];
  for (const text of whole) assert.equal(documentOf(text, 'R'), text);
  const others = [
    '',
    '<html>maintenance</html>',
    '<R>',
    '<R><a/>',
    '<Rx></Rx>',
    '<html><R></R></html>',
    'x<R></R>',
  ];
  for (const text of [...others, '<Rx><R></R>', '{}', '<R/><a/>', '<R></R><a>'])
    assert.throws(() => documentOf(text, 'R'), { code: 'storage_failed', message: /address/ }, text);
});
