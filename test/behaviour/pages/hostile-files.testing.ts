/** Files that try to run something on the page that shows them, by their names or by what is in them. */

const script = 'window.stolen = 1; document.title = "stolen"; parent.document.title = "stolen"; alert(1)';
const markup = `<script>${script}</script><img src=x onerror='${script}'><svg/onload='${script}'>`;

const notebook = {
  cells: ['markdown', 'code', 'raw'].map((cell_type) => ({
    cell_type,
    source: markup,
    outputs: [
      { output_type: 'stream', text: [markup] },
      { output_type: 'display_data', data: { 'text/html': markup, 'image/svg+xml': markup } },
      { output_type: 'display_data', data: { 'image/png': `x" onerror="${script}` } },
      { output_type: 'error', ename: markup, evalue: markup },
    ],
  })),
};

export const hostileFiles: readonly (readonly [name: string, content: string])[] = [
  ['evil.html', markup],
  ['evil.svg', `<svg xmlns="http://www.w3.org/2000/svg" onload='${script}'><script>${script}</script></svg>`],
  ['evil.xhtml', `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script}</script></html>`],
  ['evil.xml', `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${script}</x:script>`],
  ['evil.md', `${markup}\n\n[x](javascript:alert(1)) ![x](x" onerror="alert(1))\n\n<javascript:alert(1)>`],
  ['evil.csv', `${markup},"</td>${markup}"\n=1+1,@x\n`],
  ['evil.ipynb', JSON.stringify(notebook)],
  ['evil.txt', `</pre>${markup}`],
  ['evil.pdf', `%PDF-1.4\n${markup}`],
  ['"><img src=x onerror=alert(1)>.txt', 'x'],
  [`' onmouseover='alert(1).png`, 'x'],
  ['javascript:alert(1)', markup],
  ['</title></style><script>alert(1)<script>.csv', 'a,b\n'],
];

/** The header of a PNG of this size, and nothing else. */
export function makeHugePicture(width: number, height: number): Buffer {
  const png = Buffer.alloc(64);
  png.write('\x89PNG\r\n\x1a\n', 'latin1');
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  return png;
}
