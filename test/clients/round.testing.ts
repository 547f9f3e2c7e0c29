import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Received, Script, Turn } from './conversation.testing.ts';
import type { Finished } from './run-client.testing.ts';

/** Prints 42, displays a picture of 8 by 8 points and leaves it by a name of its own: other clients use the same server. */
const drawPicture = (name: string): string => `
import struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\\0' + bytes((x * 30, y * 30, 90)[i] for x in range(8) for i in range(3)) for y in range(8))
picture = (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 2, 0, 0, 0))
    + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
open('/artifacts/${name}', 'wb').write(picture)
print(6 * 7)
class Picture:
    def _repr_png_(self): return picture
Picture()
`;

const run = (code: string) => ({ tool: 'execute_code', input: { language: 'python', code } });

export const runCode = run('print(6 * 7)');

/** What is in the project of the client's user. */
export function writeProject(folder: string): void {
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'docs/plan.md'), 'The launch is on Tuesday.\n');
}

const readPlan = { tool: 'read_client_file', input: { path: 'docs/plan.md', via: 'upload' } };

/** Runs the command that the last answer told the agent to run. */
const runCommand = (last: Received | null): Turn => ({ shell: findCommand(last!.text) });

type Check = (received: Received) => void;
const says =
  (words: RegExp): Check =>
  ({ text }) =>
    assert.match(text, words);
const offers: Check = ({ text }) => void findCommand(text);

/** What a model does in one step, and what it has to receive. */
type Step = readonly [Script[number], Check];

export const shortRound: readonly Step[] = [[() => runCode, says(/\b42\n/)]];

/** A whole round of one client. */
export function makeRound(client: string): readonly Step[] {
  const name = `${client.toLowerCase().replaceAll(/\W/g, '-')}.png`;
  return [
    [
      () => run(drawPicture(name)),
      ({ pictures, text }) => {
        assert.match(text, /\b42\n/);
        assert.equal(pictures, 1, `without being asked for: ${text}`);
      },
    ],
    [() => ({ tool: 'get_artifact', input: { name } }), says(/http:\/\/127\.0\.0\.1:\d+\/files\/[\w-]+/)],
    [
      () => ({ tool: 'get_artifact', input: { name, show: true } }),
      ({ pictures, text }) => assert.equal(pictures, 1, text),
    ],
    [() => readPlan, offers],
    [runCommand, says(/file_id/)],
    [() => readPlan, says(/The launch is on Tuesday\./)],
  ];
}

export const toScript = (steps: readonly Step[]): Script => steps.map(([turn]) => turn);

export function checkRound({ received, output }: Finished, steps: readonly Step[]): void {
  assert.equal(received.length, steps.length, `${output}\n${JSON.stringify(received.at(-1))}`);
  for (const [i, answer] of received.entries()) steps[i]![1](answer);
}

function findCommand(text: string): string {
  const command = /(?:test .*?&& )?curl .*?\/uploads\/[\w-]+'?/.exec(text)?.[0];
  assert.ok(command !== undefined, `there is no command in: ${text}`);
  return command;
}
