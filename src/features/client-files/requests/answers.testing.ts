import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Question } from '../../../core/offer/tool.ts';
import type { ClientListing, FoundFile, ClientInstructions, ReadClientFile } from '../client-files.ts';

export const sh = (cwd: string, command: string) =>
  promisify(execFile)('sh', ['-c', command], { cwd, timeout: 60_000 });

export const isFile = (answer: FoundFile | Question | ClientInstructions): ReadClientFile => {
  assert.ok('bytes' in answer, JSON.stringify(answer));
  return answer;
};
export const isListing = (answer: ClientListing | Question | ClientInstructions): ClientListing => {
  assert.ok('entries' in answer, JSON.stringify(answer));
  return answer;
};
export const isAsked = (answer: object): Question => {
  assert.ok('ask' in answer, JSON.stringify(answer));
  return answer as Question;
};
export const isOffered = (answer: object): ClientInstructions => {
  assert.ok('offer' in answer, JSON.stringify(answer));
  return answer as ClientInstructions;
};
export const paramsOf = ({ ask }: Question) => ask['client_file']!.params as Record<string, any>; // oxlint-disable-line typescript/no-explicit-any
export const text = ({ bytes }: ReadClientFile): string => Buffer.from(bytes).toString();
