import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { serve, temporaryFolder } from './program.testing.ts';

const mega = 1024 ** 2;
const megabytes = 400;

/** The most memory that a process had at any time. */
const peakMegabytes = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

it(
  `a file of ${megabytes} MB goes in and out of a server that never has half of it in memory`,
  { skip: process.platform !== 'linux' && 'the memory of a process is read from /proc' },
  async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path]);
    const { data } = await program.call('request_upload', { filename: 'large.bin' });
    const before = peakMegabytes(program.pid);
    const piece = Buffer.alloc(mega, 'x');
    async function* bytes(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < megabytes; at++) yield piece;
    }
    const body = ReadableStream.from(bytes());
    const sent = await fetch(data.uploadUrl, { method: 'PUT', body, duplex: 'half' });
    assert.equal(sent.status, 201);
    const { file_id } = (await sent.json()) as { file_id: string };
    const { data: link } = await program.call('share_file', { file_id });
    let received = 0;
    for await (const chunk of (await fetch(link.downloadUrl)).body!) received += chunk.length;
    assert.equal(received, megabytes * mega);
    const grown = peakMegabytes(program.pid) - before;
    assert.ok(grown < megabytes / 2, `its memory grew by ${Math.round(grown)} MB`);
    recordProof('C3:nothing-is-buffered-whole');
  },
);
