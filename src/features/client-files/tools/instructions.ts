/**
 * What `read_client_file` and `list_client_directory` share: common input fields, and the answer that says what the
 * agent has to run before it calls again. It asks no client and checks no path: `client-files.ts` does.
 */
import { z } from 'zod';
import { makeText } from '../../../core/offer/schema.ts';
import { quoteName } from '../../../platform/text/text.ts';
import { arrivalMethods, transferMethods } from '../client-file.ts';
import type { ClientInstructions } from '../requests/file-request.ts';

/** Which folders may be asked for, in the words of a description. */
export const describeAllowedFolders = (folders: readonly string[]): string =>
  `Folders: ${folders.slice(0, 20).join(', ')}.`;

export const createPathSchema = (example: string) => makeText(4096, `In the project, such as ${example}`);

/** What both tools take. */
export const requestInputShape = {
  via: z
    .enum(transferMethods)
    .optional()
    .describe('Default: direct (in place) or upload (by your shell); url, form: ask the user'),
  proof: makeText(200, 'Output of a proof command').optional(),
};

export const methodSchema = z.enum(transferMethods).describe('How it came, or will come');

export const arrivalMethodSchema = z
  .enum(arrivalMethods)
  .describe('How it came, or will come; given: by guide_cache_file');

export const instructionsShape = z
  .object({
    command: z.string().describe("Run it in the project's folder, then call again with the same input"),
    uploadUrl: z.string().nullable(),
    pageUrl: z.string().nullable().describe('A page where a person can send it, if there is no shell'),
    expiresAt: z.string(),
    proofCommand: z.string().nullable().describe('Prints what proves that client and server share files'),
  })
  .describe('What to do before calling again');

export const listingInstructionsShape = instructionsShape.extend({
  bsdForm: z
    .string()
    .optional()
    .describe('On macOS and BSD, goes in the place of -printf and what follows it'),
});

/** An offer as both tools answer it, and what else can be done. */
export function describeInstructions(instructions: ClientInstructions, orElse: readonly string[] = []) {
  const { offer, path, rung, expiresAt, askable: _, bsdForm, ...ways } = instructions;
  const until = new Date(expiresAt).toISOString();
  const text =
    offer === 'proof' ? describeProof(instructions, until) : describeUpload(instructions, until, orElse);
  return {
    text,
    structured: {
      status: 'offered' as const,
      path,
      rung,
      offer: { ...ways, ...(bsdForm === null ? {} : { bsdForm }), expiresAt: until },
    },
  };
}

const describeProof = ({ path, command }: ClientInstructions, until: string): string =>
  `Not read yet: ${quoteName(path || '.')}. Show that this server sees your files: run this before ${until.slice(0, 16)}Z, then call again with proof set to what it prints:\n${command}`;

function describeUpload(
  { path, command, bsdForm, pageUrl, proofCommand, askable }: ClientInstructions,
  until: string,
  orElse: readonly string[],
): string {
  const asked = askable.map((method) => `via: "${method}"`).join(' or ');
  const others = [
    `give the user this page to send it, ${pageUrl}`,
    ...(asked === '' ? [] : [`call again with ${asked}, so that the client asks`]),
    ...orElse,
  ];
  return [
    `Not here yet: ${quoteName(path || '.')}. Run this in the project's folder before ${until.slice(0, 16)}Z, then call again with the same input:`,
    command,
    ...(bsdForm === null ? [] : [`On macOS and BSD, ${bsdForm} goes in the place of -printf '…'.`]),
    'If it exits with 1 and prints nothing, nothing was sent: there is no such path here, or it leads through a link.',
    ...(proofCommand === null
      ? []
      : [
          `Or, to have files read in place, run ${proofCommand} and call again with proof set to what it prints.`,
        ]),
    `Without a shell: ${others.join('; or ')}.`,
  ].join('\n');
}
