/** What takes or waits longest goes first, so that nothing is left to run alone at the end. */
export const longest = [
  'e2e/attacks/',
  'src/sandbox/docker/docker.test',
  'src/packages/bubblewrap.test',
  'e2e/users/isolation.test',
  'e2e/cli/package.test',
  'e2e/cli/bare-machine.test',
  'e2e/network/attacks.test',
  'e2e/deploy/',
  'e2e/clients/',
  'src/packages/',
  'src/sandbox/bubblewrap/bubblewrap.test',
  'e2e/several/',
  'src/sandbox/subprocess.test',
  'e2e/users/removal.test',
  'e2e/conformance/',
  'e2e/faults/injected.test',
  'e2e/durability/',
  'e2e/soak/',
  'examples/',
  'e2e/cli/',
  'src/links/',
  'src/database/postgres.test',
  'e2e/project/quality.test',
  'e2e/faults/',
  'src/transfer/vanishing.test',
  'src/storage/',
  'e2e/users/',
  'e2e/answers/',
  'e2e/audit/',
  'e2e/behaviour/',
  'e2e/',
];

/** When a file has its turn: the lower, the sooner. */
export function turnOf(file: string): number {
  const turn = longest.findIndex((start) => file.startsWith(start));
  return turn === -1 ? longest.length : turn;
}
