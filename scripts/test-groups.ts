import { join } from 'node:path';
import { isQuick } from './quick-tests.ts';

/** Test files that run one after the other in one process. */
export interface TestGroup {
  readonly title: string;
  readonly files: readonly string[];
  /** What Node runs, and with which arguments. */
  readonly main: string;
  readonly argv: readonly string[];
}

const several = join(import.meta.dirname, 'several-tests.ts');
/** So many that a process costs little beside them, and so few that no group is long. */
const mostInGroup = 12;

/**
 * A process that starts and loads the same sources costs more than what most quick tests do: those of a room have one
 * together. All others, which start servers and sandboxes, have one each.
 */
export function groupFiles(files: readonly string[]): TestGroup[] {
  const { true: quick = [], false: others = [] } = Object.groupBy(
    files,
    (file) => `${isQuick(file)}` as const,
  );
  const rooms = Map.groupBy(quick, (file) => file.split('/').slice(0, 2).join('/'));
  const together = [...rooms].flatMap(([room, inRoom]) =>
    Array.from({ length: Math.ceil(inRoom.length / mostInGroup) }, (_, at) =>
      inRoom.slice(at * mostInGroup, (at + 1) * mostInGroup),
    ).map((some) => (some.length === 1 ? runAlone(some[0]!) : runTogether(room, some))),
  );
  return [...others.map(runAlone), ...together];
}

const runAlone = (file: string): TestGroup => ({ title: file, files: [file], main: file, argv: [] });

const runTogether = (room: string, files: readonly string[]): TestGroup => ({
  title: `${room}, ${files.length} files that are quick`,
  files,
  main: several,
  argv: files,
});
