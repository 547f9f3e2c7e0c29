import { WorkcrateError } from '../errors.ts';

const keyForm = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*$/;
const idForm = /^[a-z0-9][a-z0-9_-]{0,99}$/;

export const isKey = (text: string): boolean => text.length <= 200 && keyForm.test(text);
export const isStagingId = (text: string): boolean => idForm.test(text);

/** The key as it is; what could lead out of the folder or prefix of all objects is refused. */
export const checkKey = (text: string): string => fit(text, isKey(text), 'storage key');
export const checkStagingId = (text: string): string => fit(text, isStagingId(text), 'staging id');

function fit(text: string, isFit: boolean, what: string): string {
  if (!isFit) throw new WorkcrateError('invalid_input', `${JSON.stringify(text)} is no ${what}.`);
  return text;
}
