import { z } from 'zod';
import { rungs, ways } from '../client-file.ts';
import type { Offer } from '../ladder/errand.ts';

/** Which folders may be asked for, in the words of a description. */
export const allowedText = (folders: readonly string[]): string =>
  `Allowed folders of the project: ${folders.slice(0, 20).join(', ')}.`;

/** What both tools take. */
export const wishShape = {
  via: z
    .enum(rungs)
    .optional()
    .describe(
      'How to get it; default: the best way that the client has. upload: sent by your shell, outside the conversation. direct: read in place, where client and server share a machine, after a proof by your shell',
    ),
  proof: z
    .string()
    .max(200)
    .optional()
    .describe('What the proof command of an earlier answer printed: files are then read without being sent'),
};

export const pathShape = (what: string) =>
  z.string().min(1).max(4096).describe(`${what}, from the project's folder, such as docs/plan.md`);

export const rungShape = z.enum(rungs).describe('How it came, or will come');

export const wayShape = z.enum(ways).describe('How it came, or will come; given: by guide_cache_file');

export const offerShape = z
  .object({
    command: z
      .string()
      .describe("Run it with sh in the project's folder, then call again with the same input"),
    uploadUrl: z.string().nullable(),
    pageUrl: z.string().nullable().describe('A page where a person can upload it, if there is no shell'),
    expiresAt: z.string(),
    proofCommand: z.string().nullable(),
  })
  .describe('What to do before calling again');

/** An offer as both tools answer it, and what else can be done. */
export function offered({ offer, path, rung, expiresAt, ...ways }: Offer, orElse = '') {
  const { command, pageUrl, proofCommand } = ways;
  const until = new Date(expiresAt).toISOString();
  const instead =
    offer === 'upload' && proofCommand !== null
      ? `\nOr, to let the server read all files without sending them, run ${proofCommand} and call again without via, with proof set to what it prints.`
      : '';
  const text =
    offer === 'upload'
      ? `Not here yet. Run this with sh in the project's folder before ${until.slice(0, 16)}Z, then call again with the same input (it sends nothing if the path contains a link):\n${command}${instead}\nWithout a shell: give the user this page to upload it, ${pageUrl}${orElse}`
      : `Show that this server can read your files: run this, then call again with proof set to what it prints:\n${command}`;
  const structured = {
    status: 'offered' as const,
    path,
    rung,
    offer: { ...ways, expiresAt: until },
  };
  return { text, structured };
}
