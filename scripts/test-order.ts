/** What takes or waits longest goes first, so that nothing is left to run alone at the end. */
export const longest = [
  'test/properties/attacks/',
  'src/ports/sandbox/docker/docker.test',
  'src/features/packages/bubblewrap.test',
  'test/behaviour/users/isolation.test',
  'test/behaviour/cli/package.test',
  'test/behaviour/cli/bare-machine.test',
  'test/behaviour/network/attacks.test',
  'test/packaging/',
  'test/clients/',
  'src/features/packages/',
  'src/ports/sandbox/bubblewrap/bubblewrap.test',
  'test/properties/several/',
  'src/ports/sandbox/subprocess.test',
  'test/behaviour/users/removal.test',
  'test/conformance/',
  'test/properties/faults/injected.test',
  'test/properties/durability/',
  'test/properties/soak/',
  'examples/',
  'test/behaviour/cli/',
  'src/core/links/',
  'src/ports/database/postgres.test',
  'test/project/quality.test',
  'test/properties/faults/',
  'src/platform/transfer/vanishing.test',
  'src/ports/storage/',
  'test/behaviour/users/',
  'test/behaviour/answers/',
  'test/behaviour/audit/',
  'test/behaviour/backends/',
  'test/behaviour/',
];

/** When a file has its turn: the lower, the sooner. */
export function turnOf(file: string): number {
  const turn = longest.findIndex((start) => file.startsWith(start));
  return turn === -1 ? longest.length : turn;
}
