/** What a person in a browser is told of a request that was refused; programs get JSON (`answer.ts`). */
import type { ServerResponse } from 'node:http';
import { publicMessage, type WorkcrateError } from '../../platform/errors.ts';
import { renderMessage } from '../../platform/html/html.ts';
import { sendPage, createPolicy } from '../../platform/html/response.ts';
import { getErrorStatus } from '../../platform/http/answer.ts';

export async function answerErrorPage(
  res: ServerResponse,
  error: WorkcrateError,
  headers: Record<string, string | number>,
): Promise<void> {
  const { title, words } = describeError(error);
  const page = await renderMessage(title, words);
  if (!res.headersSent && !res.destroyed) sendPage(res, getErrorStatus(error), page, createPolicy(), headers);
}

/** A link that ended and one that never was are told alike: nobody may learn which tokens exist. */
function describeError(error: WorkcrateError): { readonly title: string; readonly words: string } {
  switch (error.code) {
    case 'link_not_found':
      return {
        title: 'This link does not work',
        words:
          'It has expired, was used or withdrawn, or was not copied whole. Ask whoever sent it for a new one.',
      };
    case 'upload_not_found':
      return {
        title: 'Nothing can be sent here',
        words:
          'This page was used, has expired, or its address was not copied whole. Ask whoever sent it for a new one; an assistant can be told to ask again.',
      };
    case 'bytes_gone':
    case 'file_damaged':
      return {
        title: 'This file is no longer there',
        words: 'Ask whoever sent the link to make the file again.',
      };
    case 'link_busy':
      return {
        title: 'This file is being downloaded',
        words: 'Its link works once. Try again in a moment.',
      };
    case 'too_many_requests':
      return { title: 'Too many attempts', words: 'Wait for a minute, then open the link again.' };
    default:
      return { title: 'This did not work', words: publicMessage(error) };
  }
}
