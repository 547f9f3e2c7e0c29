import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { sanitizeSvg } from './svg.ts';

const judged = (text: string): string => Buffer.from(sanitizeSvg(Buffer.from(text), 'plot.svg')).toString();
const inside = (text: string): string => `<svg xmlns="http://www.w3.org/2000/svg">${text}</svg>`;

test('an SVG as a plotting program writes it is taken, without its DOCTYPE', () => {
  const head = '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n';
  const doctype = `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"\n  "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">`;
  const body = `\n<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">
    <metadata><rdf:RDF><dc:type rdf:resource="http://purl.org/dc/dcmitype/StillImage"/></rdf:RDF></metadata>
    <defs><style type="text/css">*{stroke-linejoin: round; fill: url(#a)}</style></defs>
    <!-- <script>in a comment</script> --><use xlink:href="#m" style="clip-path: url('#b')"/>
    <image xlink:href="data:image/png;base64,iVBORw0KGgo="/><text>a &lt; b &#x3b1;</text>
    <a xlink:href="https://example.org/"><path d="M 0 0" aria-label="curl (a), image (b) C:\\x"/></a>
  </svg>`;
  assert.equal(judged(head + doctype + body), head + body);
});

const hostile: [what: string, text: string][] = [
  ['a script', inside('<script>alert(1)</script>')],
  ['a script in capitals', inside('<SCRIPT/>')],
  ['a script of another prefix', inside('<x:script xmlns:x="http://www.w3.org/2000/svg"/>')],
  ['code in an attribute', inside('<rect onload="alert(1)"/>')],
  ['code in an attribute of its root', "<svg onload = 'alert(1)'></svg>"],
  ['HTML', inside('<foreignObject><p>x</p></foreignObject>')],
  ['a picture on the disk', inside('<image href="file:///etc/passwd"/>')],
  ['a picture on the network', inside('<image xlink:href="http://example.org/x.png"/>')],
  ['a picture beside it', inside('<image href="other.png"/>')],
  ['an SVG within it', inside('<image href="data:image/svg+xml;base64,PHN2Zz4="/>')],
  ['an address that is escaped', inside('<image href="&#102;ile:///etc/passwd"/>')],
  ['a link that is code', inside('<a href="java&#10;script:alert(1)"/>')],
  ['something used from elsewhere', inside('<use href="http://example.org/#a"/>')],
  ['another base', '<svg xml:base="http://example.org/"><use href="#a"/></svg>'],
  ['a fill from elsewhere', inside('<rect fill="url(http://example.org/#a)"/>')],
  ['a style from elsewhere', inside('<rect style="fill: URL ( \'http://example.org/\')"/>')],
  ['a style with escapes', inside('<rect style="fill: u\\72l(http://example.org/)"/>')],
  ['an import', inside('<style>@import "http://example.org/";</style>')],
  ['an import in CDATA', inside('<style><![CDATA[@import "x";]]></style>')],
  ['an import after a comment', inside('<style><!-- a -->@import "x";</style>')],
  ['an animated style', inside('<animate attributeName="fill" to="url(http://example.org/#a)"/>')],
  ['an animated address', inside('<set attributeName="href" to="javascript:alert(1)"/>')],
  ['an external entity', '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>'],
  ['a DOCTYPE within it', inside('<!DOCTYPE svg>')],
  ['an entity in an attribute', inside('<image href="&x;"/>')],
  ['a style sheet of its own', `<?xml-stylesheet href="http://example.org/"?>${inside('')}`],
  ['a tag that is not closed', inside('<rect a="b"')],
  ['an attribute without quotes', inside('<rect onload=alert(1)>')],
  ['another encoding', `<?xml version="1.0"${' '.repeat(500)}encoding="UTF-7"?>${inside('')}`],
];

for (const [what, text] of hostile)
  test(`an SVG with ${what} is refused`, () => {
    assert.throws(() => judged(text), {
      code: 'document_invalid',
      message: /^The SVG "plot\.svg" is refused, because .*PNG/,
    });
  });

test('an SVG that is not UTF-8 is refused', () => {
  for (const bytes of [Buffer.from(inside(''), 'utf16le'), Buffer.from([0x3c, 0xff])])
    assert.throws(() => sanitizeSvg(bytes, 'a.svg'), { code: 'document_invalid', message: /not UTF-8/ });
});

test('what is taken is taken again as it is, and nothing fails in another way', () => {
  const piece = fc.constantFrom(
    '<svg>',
    '</svg>',
    '<a',
    ' b="',
    '"',
    '>',
    '/>',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<!DOCTYPE svg>',
    '<style>',
    '</style>',
    '<?xml ',
    '?>',
    '&amp;',
    '&',
    'x',
    ' ',
    'url(#a)',
    'on',
    '=',
    "'",
  );
  const texts = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      try {
        assert.equal(judged(judged(text)), judged(text));
      } catch (error) {
        assert.ok(isWorkcrateError(error, 'document_invalid'), String(error));
      }
    }),
    { numRuns: 2000 },
  );
});
