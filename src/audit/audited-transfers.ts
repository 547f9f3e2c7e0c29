import type { IncomingMessage, ServerResponse } from 'node:http';
import { asWorkcrateError, isWorkcrateError, type WorkcrateError } from '../errors.ts';
import { DeadLink } from '../links/link.ts';
import type { Uploads } from '../links/links.ts';
import { hashToken, isToken, publicId } from '../links/tokens.ts';
import { nobody, type Audit } from './audit.ts';

type Stored = NonNullable<Awaited<ReturnType<Uploads['file']>>>;

/** The same rights to send, with a line for every file that has come, and for all that did not. */
export function auditedUploads(uploads: Uploads, audit: Audit): Uploads {
  /** Resolves once the line is on disk: only then is the file acknowledged. */
  const note = async (token: string, file: Stored | null): Promise<void> => {
    if (file === null) return;
    const { owner: user, name: subject, id: file_id, size: bytes } = file;
    const details = { ...linkOf(token), file_id, bytes };
    audit.note({ ...plain, level: 'trace', user, subject, result: 'ok', details });
    await audit.synced();
  };

  /** What a token opens is not known before: who has none gets no line here. */
  async function telling<T>(token: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const upload = await uploads.find(token).catch(() => null);
      const result = asWorkcrateError(cause).code;
      if (upload !== null)
        audit.note({
          ...plain,
          level: 'info',
          user: upload.owner,
          subject: upload.name,
          result,
          details: linkOf(token),
        });
      throw cause;
    }
  }

  return {
    ...uploads,
    write: (token, delivery) =>
      telling(token, async () => {
        const received = await uploads.write(token, delivery);
        await note(token, received.file);
        return received;
      }),
    begin: (token, fileLength) =>
      telling(token, async () => {
        const received = await uploads.begin(token, fileLength);
        await note(token, received.file);
        return received;
      }),
    async standing(token) {
      const before = await uploads.find(token);
      const standing = await uploads.standing(token);
      // Its bytes were all here, and nobody had made a file of them.
      if (before.fileId === null && standing.upload.fileId !== null)
        await note(token, await uploads.file(standing.upload));
      return standing;
    },
    withdraw: (token) =>
      telling(token, async () => {
        const { owner: user, name: subject } = await uploads.find(token);
        await uploads.withdraw(token);
        audit.note({ ...plain, level: 'trace', user, subject, result: 'withdrawn', details: linkOf(token) });
        await audit.synced();
      }),
  };
}

const plain = { operation: 'upload', client: null } as const;

/** By the name under which the call is told that made it, and those who try it later. */
const linkOf = (token: string) => ({ link: publicId(hashToken(token)) });

type TokenRoute = (req: IncomingMessage, res: ServerResponse, token: string) => Promise<void>;

/** The same route, with a violation for every token that opens nothing: it was guessed, used up, or taken back. */
export function auditedTokens(route: TokenRoute, operation: string, audit: Audit): TokenRoute {
  return async (req, res, token) => {
    try {
      await route(req, res, token);
    } catch (error) {
      if (isWorkcrateError(error, 'link_not_found') || isWorkcrateError(error, 'upload_not_found'))
        noteGuess(audit, operation, token, error);
      throw error;
    }
  };
}

/** By the public id, which leads to the lines about the link where there was one. */
function noteGuess(audit: Audit, operation: string, token: string, error: WorkcrateError): void {
  const { cause, code: result } = error;
  const dead = cause instanceof DeadLink ? cause : null;
  const subject = isToken(token) ? publicId(hashToken(token)) : null;
  const event = { operation, user: nobody, client: null, subject, result };
  const kind = dead === null ? 'unknown_token' : `${dead.state}_link`;
  const details = dead && { owner: dead.owner };
  // Whoever was given a link and comes too late has made no attempt at anything.
  if (dead?.state === 'expired') audit.note({ ...event, level: 'info', details: { ...details, kind } });
  else audit.violation({ ...event, ...(details && { details }) }, kind, error);
}
