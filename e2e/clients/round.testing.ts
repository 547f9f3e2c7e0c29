import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from './conversation.testing.ts';
import type { Finished } from './run-client.testing.ts';

/** Prints 42 and leaves a picture of 8 by 8 points. */
const code = `
import struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\\0' + bytes((x * 30, y * 30, 90)[i] for x in range(8) for i in range(3)) for y in range(8))
open('/artifacts/plot.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 2, 0, 0, 0))
    + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
print(6 * 7)
`;

const secret = 'The launch is on Tuesday.';

/** What is in the project of the client's user. */
export function writeProject(folder: string): void {
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'docs/plan.md'), `${secret}\n`);
}

export const runCode = { tool: 'execute_code', input: { language: 'python', code } };
/** What a model does in one round: it runs code, takes a link, looks at a picture and sends a file. */
export const round: Script = [
  () => runCode,
  () => ({ tool: 'get_artifact', input: { name: 'plot.png' } }),
  () => ({ tool: 'get_artifact', input: { name: 'plot.png', show: true } }),
  () => ({ tool: 'request_upload', input: { filename: 'plan.md' } }),
  (offer) => ({ shell: findCommand(offer!.text).replace(/-T \S+/, '-T docs/plan.md') }),
  (sent) => ({
    tool: 'execute_code',
    input: { language: 'bash', code: 'cat plan.md', files: [/file_[0-9a-f]{24}/.exec(sent!.text)?.[0]] },
  }),
];

export const shortRound: Script = [() => runCode];

export function checkRun({ received: [run], output }: Finished): void {
  assert.match(run?.text ?? output, /\b42\b/);
}

export function checkRound(finished: Finished): void {
  const { received, output } = finished;
  assert.equal(received.length, round.length, output);
  const [, link, picture, , , plan] = received;
  checkRun(finished);
  assert.match(link!.text, /http:\/\/127\.0\.0\.1:\d+\/files\/[\w-]+/);
  assert.equal(picture!.pictures, 1, picture!.text);
  assert.match(plan!.text, new RegExp(secret), JSON.stringify(received));
}

/** The command that an agent is told to run. */
function findCommand(text: string): string {
  const command = /(?:test .*&& )?curl .*\/uploads\/[\w-]+'?/.exec(text)?.[0];
  assert.ok(command !== undefined, text);
  return command;
}
