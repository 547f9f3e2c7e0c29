import { randomBytes } from 'node:crypto';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { patch, sha256 } from '../../behaviour/backends/upload.testing.ts';
import { anyOf } from '../durability/load.testing.ts';
import type { Program } from '../../behaviour/cli/program.testing.ts';
import type { PartialUpload, SoakLedger } from './ledger.testing.ts';

/** Where the actions of a soak take place. */
export interface SoakScene {
  readonly program: Program;
  readonly ledger: SoakLedger;
  readonly random: () => number;
}

/** One thing that a client does. It throws where the answer is not one that a client may get. */
export type SoakAction = (scene: SoakScene) => Promise<void>;

/** So much is kept at the most, so that a long soak does not fill the disk. */
const mostFiles = 200;
const mostCrates = 60;
const mostUploads = 8;

/** Calls a tool that has to succeed. */
export async function callTool({ program }: SoakScene, tool: string, input: Record<string, unknown>) {
  const { failed, text, data } = await program.call(tool, input);
  if (failed) throw new Error(`${tool}: ${text}`);
  return data;
}

/** The upload and download URLs of a server that has been started again have another port. */
export const pathOf = (url: string): string => new URL(url).pathname;

const sendFile: SoakAction = async (scene) => {
  const { program, ledger, random } = scene;
  if (ledger.files.size > mostFiles) return removeFile(scene);
  const bytes = randomBytes(1 + Math.floor(random() ** 3 * 300_000));
  const { uploadUrl } = await callTool(scene, 'request_upload', { filename: 'soak.bin' });
  const answer = await fetch(program.url + pathOf(uploadUrl), { method: 'PUT', body: bytes });
  const receipt = (await answer.json()) as { file_id: string; sha256: string };
  if (answer.status !== 201) throw new Error(`an upload was answered ${answer.status}`);
  if (receipt.sha256 !== sha256(bytes)) ledger.problems.push(`${receipt.file_id}: stored other bytes`);
  ledger.files.set(receipt.file_id, receipt.sha256);
};

/** Sends the next part of an upload that was begun before, perhaps before the server was killed. */
const sendPart: SoakAction = async (scene) => {
  const { ledger, random } = scene;
  const begun = anyOf([...ledger.uploads], random);
  if (begun === null || ledger.uploads.size < mostUploads) return beginUpload(scene);
  const [path, upload] = begun;
  // Nobody else sends to it meanwhile.
  ledger.uploads.delete(path);
  try {
    await sendNextPart(scene, path, upload);
  } catch (error) {
    ledger.uploads.set(path, upload);
    throw error;
  }
};

async function beginUpload(scene: SoakScene): Promise<void> {
  const bytes = randomBytes(200_000);
  const request = { filename: 'parts.bin', size: bytes.length };
  const { uploadUrl } = await callTool(scene, 'request_upload', request);
  scene.ledger.uploads.set(pathOf(uploadUrl), { bytes, acknowledged: 0 });
}

async function sendNextPart({ program, ledger, random }: SoakScene, path: string, upload: PartialUpload) {
  const url = program.url + path;
  const head = await fetch(url, { method: 'HEAD', headers: { 'Tus-Resumable': '1.0.0' } });
  if (head.status !== 200) throw new Error(`HEAD of an upload was answered ${head.status}`);
  const offset = Number(head.headers.get('upload-offset'));
  if (offset < upload.acknowledged)
    ledger.problems.push(`an upload has ${offset} bytes, but ${upload.acknowledged} were acknowledged`);
  // All of it arrived, and the answer did not.
  if (offset === upload.bytes.length)
    return void ledger.files.set(head.headers.get('workcrate-file-id')!, sha256(upload.bytes));
  const end = Math.min(upload.bytes.length, offset + 1 + Math.floor(random() * 120_000));
  const sent = await patch(url, offset, upload.bytes.subarray(offset, end));
  if (sent.status !== 204) throw new Error(`a part was answered ${sent.status}`);
  upload.acknowledged = end;
  if (end < upload.bytes.length) return void ledger.uploads.set(path, upload);
  const digest = sent.headers.get('workcrate-sha256');
  if (digest !== sha256(upload.bytes)) ledger.problems.push(`a resumed upload was stored as ${digest}`);
  ledger.files.set(sent.headers.get('workcrate-file-id')!, sha256(upload.bytes));
}

const shareFile: SoakAction = async ({ program, ledger, random }) => {
  const found = anyOf([...ledger.files], random);
  if (found === null) return;
  const { failed, data } = await program.call('share_file', { file_id: found[0] });
  // Another client may have deleted it meanwhile.
  if (!failed) ledger.links.set(pathOf(data.downloadUrl), { file: found[0], sha256: found[1] });
};

const fetchLink: SoakAction = async ({ program, ledger, random }) => {
  const found = anyOf([...ledger.links], random);
  if (found === null) return;
  const answer = await fetch(program.url + found[0]);
  const bytes = await answer.bytes();
  // Its file may be deleted, or the link revoked, meanwhile.
  if (answer.status === 410 || answer.status === 404) return;
  if (answer.status !== 200 || sha256(bytes) !== found[1].sha256)
    ledger.problems.push(`a link was answered ${answer.status} with other bytes`);
};

const revokeLink: SoakAction = async (scene) => {
  const { ledger, random } = scene;
  const found = anyOf([...ledger.links.keys()], random);
  if (found === null) return;
  ledger.links.delete(found);
  await callTool(scene, 'revoke_link', { token: found.slice(found.lastIndexOf('/') + 1) });
  ledger.revoked.add(found);
};

const fetchOnce: SoakAction = async (scene) => {
  const { program, ledger } = scene;
  const { uploadUrl } = await callTool(scene, 'request_upload', { filename: 'once.bin' });
  const sent = await fetch(program.url + pathOf(uploadUrl), { method: 'PUT', body: 'once' });
  const { file_id } = (await sent.json()) as { file_id: string };
  const { downloadUrl } = await callTool(scene, 'share_file', { file_id, single_use: true });
  const path = pathOf(downloadUrl);
  await (await fetch(program.url + path)).text();
  // The server notes the end of a download after its client has seen it.
  const token = path.slice(path.lastIndexOf('/') + 1);
  await eventually(async () => (await callTool(scene, 'link_status', { token })).state === 'used');
  ledger.used.add(path);
  await callTool(scene, 'delete_file', { file_id });
};

const removeFile: SoakAction = async ({ program, ledger, random }) => {
  const found = anyOf([...ledger.files.keys()], random);
  if (found === null) return;
  ledger.files.delete(found);
  const { failed } = await program.call('delete_file', { file_id: found });
  if (!failed) ledger.deleted.add(found);
};

const runCode: SoakAction = async (scene) => {
  const { ledger, random } = scene;
  const word = randomBytes(6).toString('hex');
  const [language, code] = anyOf(
    [
      ['python', `open('/artifacts/${word}.txt', 'w').write('${word}'); print('${word}')`],
      ['bash', `echo ${word} | tee /artifacts/${word}.txt; (setsid sleep 300 &)`],
    ] as const,
    random,
  )!;
  const ended = await callTool(scene, 'execute_code', { language, code });
  if (ended.stdout !== `${word}\n`)
    ledger.problems.push(`${ended.execution_id} printed ${JSON.stringify(ended)}`);
  ledger.runs.set(ended.execution_id, ended.stdout);
};

const tidyUp: SoakAction = async (scene) => {
  // Not the folders of runs that are under way.
  const command = 'find /workspace /artifacts -mindepth 1 -mmin +2 -delete';
  const { execution_id, stdout } = await callTool(scene, 'execute_bash', { command });
  scene.ledger.runs.set(execution_id, stdout);
};

const packRun: SoakAction = async (scene) => {
  const { program, ledger } = scene;
  if (ledger.crates.size > mostCrates) return;
  const ran = await callTool(scene, 'execute_code', { language: 'bash', code: 'echo packed' });
  ledger.runs.set(ran.execution_id, ran.stdout);
  const terms = { execution_id: ran.execution_id, title: `Soak ${ran.execution_id}` };
  const packed = await callTool(scene, 'pack_crate', terms);
  const answer = await fetch(program.url + pathOf(packed.downloadUrl));
  if (sha256(await answer.bytes()) !== packed.sha256) ledger.problems.push(`${packed.crate_id}: other bytes`);
  ledger.crates.set(packed.crate_id, packed.sha256);
};

const lookAround: SoakAction = async (scene) => {
  await callTool(scene, 'list_files', { limit: 50 });
  await callTool(scene, 'search_executions', { text: 'soak' });
  await callTool(scene, 'search_index', { query: 'soak' });
};

/** Each with how often it comes. */
export const plainActions: Readonly<Record<string, readonly [weight: number, action: SoakAction]>> = {
  'send a file': [16, sendFile],
  'send a part': [14, sendPart],
  'share a file': [10, shareFile],
  'fetch a link': [14, fetchLink],
  'revoke a link': [3, revokeLink],
  'fetch a single-use link': [3, fetchOnce],
  'delete a file': [5, removeFile],
  'run code': [16, runCode],
  'tidy up': [2, tidyUp],
  'pack a run': [2, packRun],
  'look around': [4, lookAround],
};
