import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findElements, findElementText, isWholeDocument, parseAttributes, scanXml, XmlError } from './xml.ts';

it('finds the text of an element, with attributes or without, and takes no longer name for it', () => {
  assert.equal(findElementText('<Keys>a</Keys><Key>b &amp; &#x263a;</Key><Key>c</Key>', 'Key'), 'b & ☺');
  assert.equal(findElementText('<a><Key xmlns="urn:x"\n b="c">d</Key></a>', 'Key'), 'd');
  assert.equal(findElementText('<Key></Key>', 'Key'), '');
  assert.equal(findElementText('<Key><Key>x</Key></Key>', 'Key'), 'x');
  for (const none of ['', '<Key>', '<Key', '<Key>a', '<Key/>', '<Key>a</Keys>', '</Key>'])
    assert.equal(findElementText(none, 'Key'), null, none);
});

it('finds each element of a name', () => {
  assert.deepEqual(findElements('<Part>1</Part> <Parts>x</Parts><Part a="b"><N>2</N></Part><Part>', 'Part'), [
    '1',
    '<N>2</N>',
  ]);
  assert.deepEqual(findElements('<Part></Part', 'Part'), []);
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
    assert.equal(findElementText(text, 'Code'), null, piece);
    assert.deepEqual(findElements(text, 'Code'), [], piece);
    assert.ok(!isWholeDocument(text, 'Code'), piece);
    assert.ok(!isWholeDocument(`<Code>${text}`, 'Codes'), piece);
  }
  const blanks = ' '.repeat(length);
  assert.ok(isWholeDocument(`${blanks}<a>${blanks}</a>${blanks}`, 'a'));
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
  for (const text of whole) assert.ok(isWholeDocument(text, 'R'), text);
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
    assert.ok(!isWholeDocument(text, 'R'), text);
});

const limits = { mostElements: 1000, mostDepth: 10 };
const scan = (text: string) =>
  Array.from(scanXml(text, limits), (found) =>
    'name' in found ? `${found.kind} ${found.name}` : `${found.kind} ${text.slice(found.at, found.end)}`,
  );

it('gives every tag in its order, and passes over text, comments and CDATA', () => {
  const text = '<?xml version="1.0"?><!DOCTYPE a><a b="x>y"><!-- <no> --><x:c/>t > u<![CDATA[<no>]]></a\n>';
  assert.deepEqual(scan(text), [
    'instruction <?xml version="1.0"?>',
    'doctype <!DOCTYPE a>',
    'start a',
    'empty x:c',
    'end a',
  ]);
});

it('gives attributes as they are written, and finds what is none', () => {
  const attributesIn = (text: string) =>
    Array.from(scanXml(text, limits), (tag) => ('name' in tag ? parseAttributes(tag) : [])).flat();
  assert.deepEqual(attributesIn(`<a b = "1 &amp; '2'" x:c\n='"'/><d/>`), [
    ['b', "1 &amp; '2'"],
    ['x:c', '"'],
  ]);
  for (const [text, stray] of Object.entries({
    '<a b=c>': 'b',
    '<a b>': 'b',
    '<a b="c"d="e">': 'd',
    '<a / b="c">': '/',
  }))
    assert.throws(() => attributesIn(text), { name: 'XmlError', problem: 'attribute', message: stray }, text);
});

it('says what is wrong and where', () => {
  const wrong: Record<string, [string, number]> = {
    'x<': ['tag', 1],
    '<a': ['tag', 0],
    '<a><b "></a>': ['tag', 3],
    '</a b="c">': ['tag', 0],
    '</a/>': ['tag', 0],
    '<a b="<">': ['tag', 0],
    '<a><!-- b': ['cut_off', 3],
    '<![CDATA[ ]>': ['cut_off', 0],
    '<?xml': ['cut_off', 0],
    '<!DOCTYPE a [<!ENTITY b "c">]>': ['declaration', 0],
    '<!ENTITY b "c">': ['declaration', 0],
    ['<a>'.repeat(11)]: ['too_deep', 30],
    ['<a/>'.repeat(1001)]: ['too_many', 4000],
  };
  for (const [text, [problem, at]] of Object.entries(wrong))
    assert.throws(() => scan(text), { name: 'XmlError', problem, at }, text);
  // Ends without a beginning do not make room for more depth.
  assert.throws(() => scan('</a>'.repeat(5) + '<a>'.repeat(11)), { problem: 'too_deep' });
  assert.equal(scan('<a>'.repeat(10) + '<b/>').length, 11);
});

// Where the time grew with the square of the length, any of these would take an hour and more.
it('scans what a hostile author may write', { timeout: 60_000 }, () => {
  const length = 256 * 1024;
  const much = { mostElements: length, mostDepth: length };
  const pieces = [
    '<',
    'a',
    ' ',
    '<a',
    '<a ',
    '<a b',
    '<a b=',
    '<a b="',
    '<a b="c" ',
    '/',
    '<!--',
    '<!',
    '<?',
    '&',
    '"',
    '=',
    '</a',
    '<a>',
  ];
  const starts = [
    '',
    '<a',
    '<a ',
    '<a b',
    '<a b=',
    '<a b="',
    '</',
    '<!DOCTYPE a',
    '<!DOCTYPE a A',
    '<!-- ',
    '<![CDATA[',
  ];
  for (const start of starts)
    for (const piece of pieces)
      for (const end of ['', '>', '/>']) {
        try {
          const text = start + piece.repeat(length / piece.length) + end;
          for (const tag of scanXml(text, much)) if ('name' in tag) parseAttributes(tag);
        } catch (error) {
          assert.ok(error instanceof XmlError, String(error));
        }
      }
});
