import { spawnSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { readCallRecord } from '../code-mode/store.ts';
import { ada, openRoom, type RoomOptions, type TestRoom } from '../../core/runs/room.testing.ts';
import { collectText } from '../../platform/streams.ts';
import { readMember, readZipDirectory, findStoredRange } from '../../platform/zip/unzip.ts';
import type { GraphEntity } from './entities.ts';
import { createCratePacker, type WrittenCrate, type CratePackerOptions, type PackRequest } from './pack.ts';
import { memoryTarget } from './target.testing.ts';

/** 15 November 2026, so that what is packed is the same each time. */
const noon = Date.UTC(2026, 10, 15, 12);

/** Runs of code on real interpreters, and a source that packed crates go to. */
export async function openPacking(
  options: Partial<Pick<CratePackerOptions, 'maxBytes' | 'reserveRoom'>> = {},
  roomOptions: RoomOptions = {},
) {
  const room = await openRoom(roomOptions);
  const target = memoryTarget();
  const { files, places, executions } = room;
  const { maxBytes = 1e9, reserveRoom = async () => ({ async [Symbol.asyncDispose]() {} }) } = options;
  const packing = createCratePacker({
    files,
    places,
    executions,
    keptResults: room.provenance,
    readCalls: (id) => readCallRecord(room.database, id),
    target,
    maxBytes,
    reserveRoom,
    clock: () => noon,
  });
  return {
    room,
    target,
    packing,
    pack: (request: PackRequest, caller = ada): Promise<WrittenCrate> =>
      packing.pack(caller, request, quiet()),
    zipOf: (packed: WrittenCrate): Buffer => target.held.get(packed.object.name)!,
    [Symbol.asyncDispose]: () => room[Symbol.asyncDispose](),
  };
}

/** The notes of a crate but for the one that most runs have: that they may have read more than is known. */
export const ownNotes = ({ notes }: WrittenCrate): string[] =>
  notes.filter((note) => !note.startsWith('inputs_may_be_incomplete: '));

export const quiet = () => ({ signal: new AbortController().signal, progress: () => {} });

/** Keeps a file for a user, as an upload does. */
export function keep({ files }: TestRoom, name: string, text: string, caller = ada) {
  const bytes = Readable.from([Buffer.from(text)]);
  return files.add(caller, { name, origin: 'upload', keepSeconds: 3600 }, bytes);
}

/** An archive by our own reader: every member that is asked for is read whole and its CRC checked. */
export async function openZip(zip: Buffer) {
  const ranged = {
    size: zip.length,
    async *read(start: number, end: number) {
      yield zip.subarray(start, end);
    },
  };
  const directory = await readZipDirectory(ranged, {});
  return {
    directory,
    async read(path: string) {
      const member = directory.find(path);
      return member && readMember(ranged, directory, member, { limit: 1e9 });
    },
    rangeOf: (path: string) => findStoredRange(ranged, directory, directory.find(path)!),
  };
}

/** All that an archive holds, as text. */
export async function membersOf(zip: Buffer): Promise<Map<string, string>> {
  const { directory, read } = await openZip(zip);
  const members = new Map<string, string>();
  for (const { path } of directory) members.set(path!, await collectText((await read(path!))!));
  return members;
}

/** What Python makes of an archive: names, bytes, and how they are stored. */
export function pythonMembers(zip: Buffer): { name: string; text: string; method: number }[] {
  const script = `
import io, json, sys, zipfile
archive = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
assert archive.testzip() is None
print(json.dumps([{'name': i.filename, 'text': archive.read(i).decode('utf-8', 'replace'), 'method': i.compress_type} for i in archive.infolist()]))`;
  const { stdout, stderr, status } = spawnSync('python3', ['-c', script], { input: zip, maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString()) as { name: string; text: string; method: number }[];
}

export async function metadataIn(zip: Buffer): Promise<string> {
  return collectText((await (await openZip(zip)).read('ro-crate-metadata.json'))!);
}

export interface Graph {
  readonly context: unknown;
  readonly all: readonly GraphEntity[];
  find(id: string): GraphEntity;
  ofType(type: string): GraphEntity[];
}

export async function graphOf(zip: Buffer): Promise<Graph> {
  const document = JSON.parse(await metadataIn(zip)) as { '@context': unknown; '@graph': GraphEntity[] };
  const all = document['@graph'];
  return {
    context: document['@context'],
    all,
    find: (id) => all.find((entity) => entity['@id'] === id)!,
    ofType: (type) => all.filter((entity) => [entity['@type']].flat().includes(type)),
  };
}
