import { invalid, textOf, type Refused } from './refusal.testing.ts';

const addresses = [
  'http://127.0.0.1:9/a.png',
  'https://example.org/a.png',
  'HTTPS://example.org/a.png',
  '//example.org/a.png',
  'ftp://example.org/a.png',
];
const places = [
  'file:///etc/passwd',
  'file:/etc/passwd',
  '/etc/passwd',
  '../../../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '/artifacts/../../etc/passwd',
  '\\\\host\\share\\a.png',
  'https:\\\\example.org\\a.png',
  '.',
];

const dataUri = (type: string, text: string): string =>
  `data:${type};base64,${Buffer.from(text).toString('base64')}`;
const picture = (target: string) => textOf(`![x](<${target}>)`);
export const svg = (inside: string): string =>
  dataUri(
    'image/svg+xml',
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="900" height="900">${inside}</svg>`,
  );

const entities =
  '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>';

export const refusedPictures: readonly Refused[] = [
  ...addresses.map((at) => invalid(`a picture at ${at}`, picture(at), /not fetched.*request_upload/)),
  ...places.map((at) =>
    invalid(`a picture at ${at}`, picture(at), /(?:by name|not fetched).*request_upload/),
  ),
  invalid('a picture in HTML', textOf('<img src="http://127.0.0.1:9/a.png">'), /not fetched.*request_upload/),
  invalid(
    'a picture in a title',
    textOf('---\ntitle: "![x](/etc/passwd)"\n---\n'),
    /by name.*request_upload/,
  ),
  invalid('a page', picture(dataUri('text/html', '<script>')), /is not a picture/),
  invalid('a page that says it is a PNG', picture(dataUri('image/png', '<script>')), /use PNG, JPEG/),
  invalid('an SVG with a file', picture(svg('<image xlink:href="file:///etc/passwd"/>')), /outside.*as PNG/),
  invalid('an SVG with an address', picture(svg('<use href="http://127.0.0.1:9/#a"/>')), /outside.*as PNG/),
  invalid('an SVG with a script', picture(svg('<script>fetch("/")</script>')), /<script>.*as PNG/),
  invalid('an SVG that imports', picture(svg('<style>@import "//127.0.0.1:9/";</style>')), /style sheet/),
  invalid('an SVG with entities', picture(dataUri('image/svg+xml', entities)), /DOCTYPE.*as PNG/),
  invalid('a picture that nobody has', picture('nobody.png'), /list_artifacts/),
  invalid(
    '501 pictures',
    textOf(Array.from({ length: 501 }, (_, at) => `![x](p${at}.png)`).join('\n')),
    /500 pictures/,
  ),
];
