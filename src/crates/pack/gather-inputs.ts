import type { Execution, GivenFile } from '../../executions/executions.ts';
import { addFromPlace, addStored, addText, nulSign, type Gathering } from './gathering.ts';
import { stdinName, type MissingFile, type Origin, type PackedFile } from './packed.ts';
import { measure, placeFile } from './place-files.ts';

/** The files that a run was given: from the store, or where the run left them, if they are still what they were; and its stdin. */
export async function gatherInputs(
  gathering: Gathering,
  execution: Execution,
): Promise<{ inputs: PackedFile[]; missing: MissingFile[] }> {
  const inputs: PackedFile[] = [];
  const missing: MissingFile[] = [];
  for (const given of execution.inputs) {
    const found = (await fromStore(gathering, given)) ?? (await fromFolder(gathering, execution, given));
    if (found !== null) inputs.push(found);
    else missing.push(told(gathering, given));
  }
  if (execution.stdin !== '') inputs.push(await gatherStdin(gathering, execution));
  return { inputs, missing };
}

/** The last, so that no file loses its name to it. */
function gatherStdin(gathering: Gathering, { stdin, stdinBytes }: Execution): Promise<PackedFile> {
  if (Buffer.byteLength(stdin) !== stdinBytes)
    gathering.notes.push(`stdin held NUL, which is kept as ${nulSign}: it is not packed byte for byte.`);
  const description = 'What the run could read from its standard input';
  const labels = { folder: 'inputs', name: 'stdin.txt', knownAs: stdinName, description };
  return addText(gathering, stdin, 'text/plain', labels);
}

/** Whoever gave it said where from. Only a crate and a path in it are told here. */
function originOf({ origin }: GivenFile): Origin | null {
  const { crate_id: crateId, path } = origin ?? {};
  return crateId === undefined || path === undefined ? null : { crateId, path };
}

const labelsOf = (given: GivenFile) => ({
  folder: 'inputs',
  name: given.name,
  knownAs: given.name,
  description: 'A file that the run was given',
  origin: originOf(given),
});

async function fromStore(gathering: Gathering, given: GivenFile): Promise<PackedFile | null> {
  if (given.fileId === null) return null;
  const stored = await gathering.files.find(gathering.caller, given.fileId);
  return stored && (await addStored(gathering, stored, labelsOf(given)));
}

/** A run gets copies in its working folder. One that is still the same to the byte is as good as the original. */
async function fromFolder(
  gathering: Gathering,
  { workingDir }: Execution,
  given: GivenFile,
): Promise<PackedFile | null> {
  const { place, signal } = gathering;
  const file = place && placeFile(place, workingDir, given.name);
  if (file === null) return null;
  const measured = await measure(file, signal);
  if (typeof measured === 'string' || measured.sha256 !== given.sha256) return null;
  return addFromPlace(gathering, file, measured, labelsOf(given));
}

function told({ naming, notes }: Gathering, given: GivenFile): MissingFile {
  // Where it would stand, so nothing else may.
  naming('inputs', given.name);
  notes.push(`The input ${JSON.stringify(given.name)} is gone: the crate tells of it, and does not hold it.`);
  const { name, size, sha256 } = given;
  return { name, size, sha256, origin: originOf(given) };
}
