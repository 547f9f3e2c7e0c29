/** The MCP tools for links that were made: `link_status`, which tells of one or lists all, and `revoke_link`. */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { hideArguments, makeText, makeWholeNumber } from '../offer/schema.ts';
import { declareTool } from '../offer/tool.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import type { Links } from './links.ts';
import type { LinkInList } from './list.ts';

interface StatusRoom {
  readonly links: Links;
}

const linkReferenceSchema = z.strictObject({
  token: makeText(4096, 'Its URL, token or link_id').optional(),
  link_id: z.string().min(1).max(200).optional(),
});

/** Without a link, all are listed. */
const statusInput = linkReferenceSchema.extend({
  file_id: makeText(100).optional(),
  limit: makeWholeNumber(1, 200, 'Default 20, at most 200').optional(),
  after: makeText(100).optional(),
});

export const linkStateShape = z.object({
  link_id: z.string(),
  state: z.enum(['active', 'used', 'revoked', 'expired', 'gone']),
  file_id: z.string().nullable(),
  filename: z.string().nullable(),
  size: z.number().nullable(),
  singleUse: z.boolean(),
  downloads: z.number(),
  bytesSent: z.number(),
  lastUsedAt: z.string().nullable(),
  createdAt: z.string(),
  expiresAt: z.string(),
});

/** The fields of one link, or the page of a list. */
const statusOutput = linkStateShape
  .partial()
  .extend({ links: z.array(linkStateShape).optional(), next: z.string().nullable().optional() });

export const linkStatusTool = declareTool({
  name: 'link_status',
  group: 'files',
  title: 'See how a link was used',
  description:
    'Tells whether a link still works, and how often and when it was downloaded. Without arguments, lists your links.',
  input: hideArguments(statusInput, ['link_id', 'file_id', 'limit', 'after']),
  output: statusOutput,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: {
    subject: ['file_id'],
    link: { id: 'link_id', token: 'token' },
    made: ['filename', 'link_id'],
  },
  async handle({ links }: StatusRoom, { token, link_id, file_id, limit = 20, after = null }, { caller }) {
    if (token === undefined && link_id === undefined) {
      const page = await links.list(caller, { limit, after, fileId: file_id });
      return {
        text: describeLinkPage(page),
        structured: { links: page.links.map(toLinkState), next: page.next },
      };
    }
    const { download, isGone, ...found } = await links.status(caller, checkLinkReference({ token, link_id }));
    const state = found.state === 'active' && isGone ? ('gone' as const) : found.state;
    const { filename = null, size = null } = download ?? {};
    const told = { ...found, state, filename, size };
    const isUnreachable = download === null && !isGone;
    return {
      text: `${describeLink(told)}${isUnreachable ? ' Its target cannot be reached now.' : ''}`,
      structured: toLinkState(told),
    };
  },
});

/** A URL ends with its token. */
function checkLinkReference({ token, link_id }: z.output<typeof linkReferenceSchema>): string {
  const reference = token ?? link_id;
  if (reference === undefined || (token !== undefined && link_id !== undefined))
    throw new WorkcrateError('invalid_input', 'Give either token or link_id.');
  return reference.slice(reference.lastIndexOf('/') + 1);
}

const toIso = (time: number): string => new Date(time).toISOString();

const toLinkState = ({ link, state, filename, size }: LinkInList): z.input<typeof linkStateShape> => ({
  link_id: link.id,
  state,
  file_id: link.fileId,
  filename,
  size,
  singleUse: link.singleUse,
  downloads: link.downloads,
  bytesSent: link.bytesSent,
  lastUsedAt: link.lastUsedAt === null ? null : toIso(link.lastUsedAt),
  createdAt: toIso(link.createdAt),
  expiresAt: toIso(link.expiresAt),
});

function describeLinkPage({ links, next }: { links: readonly LinkInList[]; next: string | null }): string {
  if (links.length === 0) return 'You have no links. share_file makes one.';
  const more = next === null ? [] : [`There are more: link_status with after ${next}`];
  return [...links.map(describeLink), ...more].join('\n');
}

function describeLink({ link, state, filename, size }: LinkInList): string {
  const name =
    filename === null ? '' : ` to ${quoteName(filename)}${size === null ? '' : `, ${formatBytes(size)}`}`;
  const target = link.fileId === null ? name : `${name === '' ? ' to' : `${name},`} ${link.fileId}`;
  const terms = `made ${toUtcMinute(link.createdAt)} ${link.singleUse ? 'for one download, ' : 'to last '}until ${toUtcMinute(link.expiresAt)}`;
  const used = link.lastUsedAt === null ? '' : `; last used ${toUtcMinute(link.lastUsedAt)}`;
  return [
    `Link ${link.id}${target === '' ? '' : `${target},`} is ${state}, ${terms}.`,
    ...(state === 'gone' ? ['Its file was deleted, or the bytes are missing: it answers 410.'] : []),
    `Complete downloads: ${link.downloads}; bytes sent: ${link.bytesSent}${used}.`,
  ].join(' ');
}

const toUtcMinute = (time: number): string => `${toIso(time).slice(0, 16)}Z`;

export const revokeLinkTool = declareTool({
  name: 'revoke_link',
  group: 'files',
  title: 'End a link',
  description: 'Ends a link at once. Its file stays: delete_file deletes that.',
  input: hideArguments(linkReferenceSchema, ['link_id']),
  output: z.object({ link_id: z.string(), revoked: z.boolean() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  auditFields: { subject: [], link: { id: 'link_id', token: 'token' }, made: ['link_id'] },
  async handle({ links }: StatusRoom, input, { caller }) {
    const link = await links.revoke(caller, checkLinkReference(input));
    return { text: `Link ${link.id} is revoked.`, structured: { link_id: link.id, revoked: true } };
  },
});
