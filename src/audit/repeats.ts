import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BoundedMap } from '../concurrency/bounded-map.ts';

const mostKinds = 10_000;

/** How often the same was tried before. Of those that are forgotten, the one that was tried longest ago goes first. */
export function countRepeats(): (user: string, kind: string, operation: string) => number {
  const counts = new BoundedMap<string, number>({ mostEntries: mostKinds });
  return (user, kind, operation) => {
    const which = JSON.stringify([user, kind, operation]);
    const before = counts.get(which) ?? 0;
    counts.set(which, before + 1);
    return before;
  };
}

const ownFolder = dirname(import.meta.dirname);
const mostFrames = 5;
const frameForm = /^\s+at (?:.*\()?((?:file:\/\/)?\/?[^()]+):(\d+):\d+\)?$/;

/** Which lines of our own sources an error has come through, without the folders of this machine. */
export function whereOf({ stack = '', message }: Error): string {
  // What an attacker has put in the message is no frame.
  const at = stack.indexOf(message);
  const frames = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
  const own = frames.map(ownFrame).filter((frame) => frame !== null);
  const first = own.findIndex((frame) => !makers.test(frame));
  return own.slice(Math.max(0, first), Math.max(0, first) + mostFrames).join(' < ');
}

/** Files that only make errors: where one was made is not where something was refused. */
const makers = /(?:^src|\/)(?:errors|faults|refusal)\.[jt]s:\d+$/;

function ownFrame(frame: string): string | null {
  const [, file, line] = frameForm.exec(frame) ?? [];
  if (file === undefined) return null;
  const path = file.startsWith('file://') ? pathOf(file) : file;
  return path.startsWith(`${ownFolder}/`) ? `src${path.slice(ownFolder.length)}:${line}` : null;
}

function pathOf(url: string): string {
  return URL.canParse(url) ? fileURLToPath(url) : url;
}
