import { commandsOfSandbox, findNeeds } from './test-needs.ts';

/**
 * The suite has three parts, so that what anyone runs is short:
 *
 * - `usual`: SQLite, files on disk and a sandbox of bubblewrap. It installs next to nothing.
 * - `rest`: other back ends, containers, browsers, real clients, and what attacks, kills, deploys or packs the product.
 * - `long`: what takes too long for every change.
 */
export type TestPart = (typeof testParts)[number];

export const testParts = ['usual', 'rest', 'long'] as const;

/** Files of these folders are never usual, whatever they need. */
const restPaths = [
  'test/properties/attacks/',
  'test/clients/',
  'test/packaging/',
  'test/properties/durability/',
  'test/properties/faults/',
  'test/behaviour/network/attacks.test.ts',
  'test/properties/several/',
  'test/properties/soak/',
];

/** Which part a test file belongs to. One that needs a server of others, or a large package, is not usual. */
export function findPart(file: string): TestPart {
  if (file.endsWith('.long.test.ts')) return 'long';
  if (restPaths.some((path) => file.startsWith(path))) return 'rest';
  const { commands, sandbox: _, ...servers } = findNeeds([file]);
  const needsLittle =
    commands.every((command) => commandsOfSandbox.has(command)) && !Object.values(servers).some(Boolean);
  return needsLittle ? 'usual' : 'rest';
}
