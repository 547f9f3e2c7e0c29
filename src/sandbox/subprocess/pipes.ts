import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** One end for the child, one for us. */
export interface Pipe {
  /** For `stdio` of spawn. To be closed once the child has it. */
  readonly childEnd: number;
  readonly ours: Socket;
}

/**
 * Node gives children socket pairs, and a socket cannot be opened again: `echo x > /dev/stderr` fails. So
 * these are pipes, made by name in a folder of the server's, whose names are gone before anything runs.
 */
export async function outputPipes(folder: string, id: string): Promise<[Pipe, Pipe]> {
  const names = ['out', 'err'].map((name) => join(folder, `${id}.${name}`));
  await promisify(execFile)('mkfifo', ['-m', '666', ...names]);
  return names.map(openPipe) as [Pipe, Pipe];
}

function openPipe(name: string): Pipe {
  const reading = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  const childEnd = openSync(name, constants.O_WRONLY);
  unlinkSync(name);
  return { childEnd, ours: new Socket({ fd: reading, readable: true, writable: false }) };
}

export function closeChildEnds(pipes: readonly Pipe[]): void {
  for (const { childEnd } of pipes) closeSync(childEnd);
}
