import {
  findCycles,
  isTestFile,
  listProductFiles,
  readImports,
  type Imports,
} from '../../scripts/imports.ts';
import { assembly, doors, layers, packages } from './layers.testing.ts';

/** Paths are below `src/`. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Why a file may not import another, or null if it may. */
export function findFault({ from, to }: Import): string | null {
  if (isTestFile(to)) return `${to} is for tests`;
  const { folder, above, below } = splitPaths(from, to);
  return findLayerFault(folder, above, below) ?? findDoorFault({ from, to }, folder, below);
}

/** The innermost folder that holds both files, and what each of them is in it: a folder, or the file itself. */
function splitPaths(from: string, to: string): { folder: string; above: string; below: string } {
  const [a, b] = [from.split('/'), to.split('/')];
  let depth = 0;
  while (depth < Math.min(a.length, b.length) - 1 && a[depth] === b[depth]) depth++;
  return { folder: a.slice(0, depth).join('/'), above: a[depth]!, below: b[depth]! };
}

function findLayerFault(folder: string, above: string, below: string): string | null {
  const [upper, lower] = [getLayer(folder, above), getLayer(folder, below)];
  for (const [name, layer] of [
    [above, upper],
    [below, lower],
  ] as const)
    if (layer === -1 && needsLayer(folder, name)) return `${joinPath(folder, name)} is in no layer`;
  if (upper === -1 || lower === -1 || lower < upper) return null;
  return `${joinPath(folder, below)} is not below ${joinPath(folder, above)}`;
}

/** Every folder has a layer, and every file of `src/` itself. A file of a room has one only if it is named. */
export const needsLayer = (folder: string, name: string): boolean => folder === '' || !name.endsWith('.ts');

export function getLayer(folder: string, name: string): number {
  return (layers[folder] ?? []).findIndex((rooms) => rooms.includes(name));
}

function findDoorFault({ from, to }: Import, folder: string, below: string): string | null {
  if (below.endsWith('.ts')) return null;
  const room = joinPath(folder, below);
  const file = to.slice(room.length + 1, -'.ts'.length);
  const open = listDoors(room).filter(({ importer }) => isPartOf(from, importer));
  return open.some(({ name }) => name === file || name === '*') ? null : `${file}.ts is no door of ${room}`;
}

export interface Door {
  readonly name: string;
  /** For whom it is open: everybody, the rooms that put others together, or one room or file. */
  readonly importer: string;
}

export function listDoors(room: string): Door[] {
  const { all = room.slice(room.lastIndexOf('/') + 1), assembly: more = '', only = {} } = doors[room] ?? {};
  const lists = Object.entries({ [everybody]: all, [assemblers]: more, ...only });
  return lists.flatMap(([importer, names]) =>
    names.split(' ').flatMap((name) => (name === '' ? [] : { name, importer })),
  );
}

const everybody = '*';
const assemblers = 'assembly';

export function isPartOf(file: string, importer: string): boolean {
  if (importer === everybody || file === importer || file.startsWith(`${importer}/`)) return true;
  return importer === assemblers && isAssembly(file);
}

function isAssembly(file: string): boolean {
  return getLayer('', file.split('/')[0]!) >= getLayer('', assembly);
}

/** Why a file may not use a package or a module of Node, or null if it may. */
export function findPackageFault(from: string, name: string): string | null {
  const rooms = Object.hasOwn(packages, name) ? packages[name]!.split(' ') : null;
  if (rooms === null || rooms.some((room) => from === room || from.startsWith(`${room}/`))) return null;
  return `${name} is for ${rooms.join(', ')} alone`;
}

/** What the product imports, each file below `src/`. */
export function readProduct(): Map<string, Imports> {
  const cut = (file: string): string => file.slice('src/'.length);
  return new Map(
    listProductFiles().map((file) => {
      const imports = readImports(file);
      const inside = imports.files.filter((path) => path.startsWith('src/'));
      return [cut(file), { ...imports, files: inside.map(cut) }];
    }),
  );
}

/** Rooms that import each other in a circle: those of `src/`, and those within each room. No table is asked. */
export function findRoomCycles(imports: Iterable<Import>): string[][] {
  const graphs = new Map<string, Map<string, Set<string>>>();
  for (const { from, to } of imports) {
    const { folder, above, below } = splitPaths(from, to);
    if (!needsLayer(folder, above) || !needsLayer(folder, below)) continue;
    const graph = graphs.get(folder) ?? new Map<string, Set<string>>();
    graphs.set(folder, graph);
    graph.set(above, (graph.get(above) ?? new Set()).add(below));
  }
  return [...graphs].flatMap(([folder, graph]) =>
    findCycles(graph).map((rooms) => rooms.map((room) => joinPath(folder, room))),
  );
}

/** All folders with product code in them, below `src/`. */
export function listRooms(files: Iterable<string>): string[] {
  const rooms = new Set<string>();
  for (const file of files)
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1))
      rooms.add(file.slice(0, end));
  return [...rooms].toSorted();
}

const joinPath = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
