import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { findMissingScience } from '../../ports/sandbox/science.testing.ts';
import { explainDifference } from './replay-difference.ts';

const judge = (before: string | Buffer, after: string | Buffer) =>
  explainDifference(Buffer.from(before), Buffer.from(after));

it('an id of an SVG may have another name, if all that refers to it has', () => {
  const svg = (id: string, used: string, text = 'x') =>
    `<?xml version="1.0"?>\n<svg><dc:date>2026-01-0${id.length}</dc:date><defs><path id="${id}"/></defs>` +
    `<use xlink:href="#${used}" clip-path="url(#${used})"/><text>${text}</text></svg>`;
  assert.equal(judge(svg('a', 'a'), svg('bc', 'bc')), 'dates_and_ids');
  assert.equal(judge(svg('a', 'a'), svg('bc', 'a')), 'content');
  assert.equal(judge(svg('a', 'a'), svg('bc', 'bc', 'y')), 'content');
});

it('the dates and the id of a PDF may differ', () => {
  const pdf = (date: string, id: string, text = 'x') =>
    `%PDF-1.4\n1 0 obj\n<< /CreationDate (D:${date}Z) /Creator (${text}) >>\nendobj\ntrailer << /ID [<${id}> <${id}>] >>`;
  assert.equal(judge(pdf('20260101000000', 'ab'), pdf('20261118190000', 'cd')), 'dates_and_ids');
  // Others may be in parts that are compressed.
  assert.equal(judge(pdf('20260101000000', 'ab'), pdf('20260101000000', 'ab', 'y')), 'unknown');
});

function makeChunk(type: string, data: string | Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), Buffer.from(data)]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

it('the date of a PNG may differ, its pixels and other texts may not', () => {
  const png = (date: string, pixel: string, software = 'a') =>
    Buffer.concat([
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      makeChunk('tEXt', `Software\0${software}`),
      makeChunk('tEXt', `Creation Time\0${date}`),
      makeChunk('tIME', date),
      makeChunk('IDAT', deflateSync(pixel)),
    ]);
  assert.equal(judge(png('1', 'x'), png('22', 'x')), 'dates_and_ids');
  assert.equal(judge(png('1', 'x'), png('1', 'y')), 'content');
  assert.equal(judge(png('1', 'x'), png('1', 'x', 'b')), 'content');
  assert.equal(judge(png('1', 'x'), png('22', 'x').subarray(0, -1)), 'unknown');
});

it('the time in a gzip may differ; what is packed in it is not looked at', () => {
  const gzip = (text: string, time: number): Buffer => {
    const bytes = gzipSync(text);
    bytes.writeUInt32LE(time, 4);
    return bytes;
  };
  assert.equal(judge(gzip('x', 1), gzip('x', 2)), 'dates_and_ids');
  assert.equal(judge(gzip('x', 1), gzip('y', 1)), 'unknown');
});

it('the times of the members of a ZIP may differ', () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-difference-'));
  const zip = (year: number, text: string): Buffer => {
    const code = `import zipfile
with zipfile.ZipFile("x.zip", "w") as file:
    for name in "ab": file.writestr(zipfile.ZipInfo(name, (${year}, 1, 2, 3, 4, 6)), "${text}")`;
    execFileSync('python3', ['-c', code], { cwd: folder });
    return readFileSync(join(folder, 'x.zip'));
  };
  assert.equal(judge(zip(2020, 'x'), zip(2021, 'x')), 'dates_and_ids');
  assert.equal(judge(zip(2020, 'x'), zip(2020, 'y')), 'unknown');
  const damaged = zip(2020, 'x');
  damaged.writeUInt32LE(0xffff_fff0, damaged.length - 6);
  assert.equal(judge(damaged, zip(2021, 'x')), 'unknown');
  rmSync(folder, { recursive: true });
});

it('other texts differ in content, and of other bytes nobody can tell', () => {
  assert.equal(judge('a,1\n', 'a,2\n'), 'content');
  assert.equal(judge(Buffer.from([0, 1]), Buffer.from([0, 2])), 'unknown');
  assert.equal(judge('<svg/>', Buffer.from([0, 2])), 'unknown');
});

it(
  'what matplotlib wrote without a fixed date and salt is recognized',
  { skip: findMissingScience() },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'workcrate-difference-'));
    const draw = (values: string, date: string, ending: string): Buffer => {
      const code = `import matplotlib; matplotlib.use("agg"); import matplotlib.pyplot as plt
plt.plot(${values}); plt.title("t"); plt.savefig("x.${ending}")`;
      const env = { PATH: '/usr/bin:/bin', HOME: folder, SOURCE_DATE_EPOCH: date };
      execFileSync('/usr/bin/python3', ['-c', code], { cwd: folder, env });
      return readFileSync(join(folder, `x.${ending}`));
    };
    for (const ending of ['svg', 'pdf'])
      assert.equal(
        judge(draw('[1, 2]', '1000000000', ending), draw('[1, 2]', '1700000000', ending)),
        'dates_and_ids',
        ending,
      );
    assert.equal(judge(draw('[1, 2]', '1000000000', 'svg'), draw('[1, 3]', '1000000000', 'svg')), 'content');
    rmSync(folder, { recursive: true });
  },
);
