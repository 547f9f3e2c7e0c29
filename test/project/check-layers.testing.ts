import {
  findCycles,
  isTestFile,
  listProductFiles,
  readImports,
  type Imports,
} from '../../scripts/imports.ts';
import { layerNames } from '../../scripts/tree.ts';
import { doors, openRooms, packages, upward } from './layers.testing.ts';

/** Paths are below `src/`. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Why a file may not import another, or null if it may. */
export function findFault({ from, to }: Import): string | null {
  if (isTestFile(to)) return `${to} is for tests`;
  const unknown = [from, to].find((file) => getLayer(file) === -1);
  if (unknown !== undefined) return `${unknown} is in no layer`;
  const { above, below } = splitPaths(from, to);
  if (getLayer(to) > getLayer(from) && !isExcepted(from, to)) return `${below} is above ${above}`;
  return below.endsWith('.ts') ? null : findDoorFault({ from, to }, below);
}

/** The layer of a file by its path, counted from the bottom; -1 if there is none. */
export function getLayer(file: string): number {
  const [layer] = file.split('/');
  return file === 'main.ts' ? layerNames.length : layerNames.findIndex((name) => name === layer);
}

const isExcepted = (from: string, to: string): boolean =>
  Object.entries(upward).some(([room, rooms]) => isIn(from, room) && rooms.some((above) => isIn(to, above)));

const isIn = (file: string, room: string): boolean => file === room || file.startsWith(`${room}/`);

/** What each of two files is beside the other: a room, or the file itself. */
function splitPaths(from: string, to: string): { above: string; below: string; isWithin: boolean } {
  const [a, b] = [from.split('/'), to.split('/')];
  let depth = 0;
  while (depth < Math.min(a.length, b.length) - 1 && a[depth] === b[depth]) depth++;
  const cut = (parts: readonly string[]): string =>
    parts.slice(0, Math.max(getRoomDepth(parts), depth + 1)).join('/');
  return { above: cut(a), below: cut(b), isWithin: depth >= getRoomDepth(a) };
}

/** The layers that put rooms together are rooms themselves; the others have rooms. */
const getRoomDepth = ([layer]: readonly string[]): number => (layer === 'server' || layer === 'cli' ? 1 : 2);

function findDoorFault({ from, to }: Import, room: string): string | null {
  const file = to.slice(room.length + 1, -'.ts'.length);
  if (openRooms.includes(room) || isOpenToAssembly(from, to) || isNeededFeature(from, to)) return null;
  const open = listDoors(room).filter(({ importer }) => isPartOf(from, importer));
  return open.some(({ name }) => name === file) ? null : `${file}.ts is no door of ${room}`;
}

/** What puts rooms together may look into all but features: those say themselves what they bring. */
function isOpenToAssembly(from: string, to: string): boolean {
  if (!isAssembly(from)) return false;
  return !isIn(to, 'features') || /\/(?:feature|settings)\.ts$/.test(to);
}

/** A feature names those that it needs (`core/feature.ts`), and what it works on is typed by their declarations. */
const isNeededFeature = (from: string, to: string): boolean =>
  isIn(from, 'features') && /^features\/[^/]+\/feature\.ts$/.test(to);

export interface Door {
  readonly name: string;
  /** For whom it is open: everybody, the rooms that put others together, or one room or file. */
  readonly importer: string;
}

/** A feature has no door that is open to all: other features are named. */
export function listDoors(room: string): Door[] {
  const own =
    isIn(room, 'features') && room.split('/').length === 2 ? '' : room.slice(room.lastIndexOf('/') + 1);
  const { all = own, assembly: more = '', only = {} } = doors[room] ?? {};
  const lists = Object.entries({ [everybody]: all, [assemblers]: more, ...only });
  return lists.flatMap(([importer, names]) =>
    names.split(' ').flatMap((name) => (name === '' ? [] : { name, importer })),
  );
}

const everybody = '*';
const assemblers = 'assembly';

export function isPartOf(file: string, importer: string): boolean {
  return importer === everybody || isIn(file, importer) || (importer === assemblers && isAssembly(file));
}

const isAssembly = (file: string): boolean => getLayer(file) >= layerNames.indexOf('server');

/** Why a file may not use a package or a module of Node, or null if it may. */
export function findPackageFault(from: string, name: string): string | null {
  const rooms = Object.hasOwn(packages, name) ? packages[name]!.split(' ') : null;
  if (rooms === null || rooms.some((room) => isIn(from, room))) return null;
  return `${name} is for ${rooms.join(', ')} alone`;
}

/** What the product imports, each file below `src/`. Packages of their own are left out. */
export function readProduct(): Map<string, Imports> {
  const cut = (file: string): string => file.slice('src/'.length);
  const files = listProductFiles().filter((file) => file.startsWith('src/'));
  return new Map(
    files.map((file) => {
      const imports = readImports(file);
      const inside = imports.files.filter((path) => path.startsWith('src/'));
      return [cut(file), { ...imports, files: inside.map(cut) }];
    }),
  );
}

/** Why a file of a package of its own may not import what it does: it reaches itself, its packages and our entry points. */
export function findReach(file: string, { files, packages: named }: Imports): string[] {
  const home = `${file.split('/').slice(0, 2).join('/')}/`;
  return [
    ...files.filter((path) => !path.startsWith(home)).map((path) => `${file} imports ${path}`),
    ...named.flatMap((name) => findPackageFault(file, name) ?? []).map((fault) => `${file}: ${fault}`),
  ];
}

/** Rooms that import each other in a circle: those of all layers, and those within each room. No table is asked. */
export function findRoomCycles(imports: Iterable<Import>): string[][] {
  const graphs = new Map<string, Map<string, Set<string>>>();
  for (const { from, to } of imports) {
    const { above, below, isWithin } = splitPaths(from, to);
    // A file of a room is no room within it.
    if (above === below || (isWithin && (above.endsWith('.ts') || below.endsWith('.ts')))) continue;
    const around = isWithin ? above.slice(0, above.lastIndexOf('/')) : '';
    const graph = graphs.getOrInsertComputed(around, () => new Map());
    graph.getOrInsertComputed(above, () => new Set()).add(below);
  }
  return [...graphs.values()].flatMap((graph) => findCycles(graph));
}

/** All folders with product code in them, below `src/`, but layers. */
export function listRooms(files: Iterable<string>): string[] {
  const rooms = new Set<string>();
  for (const file of files)
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1))
      rooms.add(file.slice(0, end));
  return [...rooms].filter((room) => room.split('/').length >= getRoomDepth(room.split('/'))).toSorted();
}
