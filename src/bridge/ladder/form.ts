import { inputRequired, type InputRequest, type InputResponseView } from '@modelcontextprotocol/server';
import { encode } from '../text/encode.ts';
import { mostTyped } from './choose.ts';
import type { Errand } from './errand.ts';
import { mayNot, tooLargeFor } from './failures.ts';

/** Asks a person, or the program that speaks for one, for a small text. */
export function formRequest({ operation, path, recursive }: Errand): InputRequest {
  const shown = JSON.stringify(path.relative || '.');
  const message =
    operation === 'read'
      ? `The server asks for the text of the file ${shown} of your project. Paste it, or decline.`
      : `The server asks what is in the folder ${shown} of your project${recursive ? ', and in all below it' : ''}. ` +
        'Give one path a line, from the project\'s folder, such as "docs/a.md" and "docs/more/" for a folder; ' +
        'or, with more facts, "file 120 2026-01-31T12:00:00Z docs/a.md". Or decline.';
  return inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: {
        content: {
          type: 'string',
          title: operation === 'read' ? 'Text' : 'Paths',
          description: `At most ${mostTyped} bytes`,
          maxLength: mostTyped,
        },
      },
      required: ['content'],
    },
  });
}

export function formAnswer({ path: { relative } }: Errand, answer: InputResponseView): Uint8Array {
  if (answer.kind !== 'elicit') throw mayNot(relative, 'the client sent no answer to the question');
  if (answer.action === 'decline') throw mayNot(relative, 'the person declined');
  if (answer.action === 'cancel') throw mayNot(relative, 'the person closed the question');
  const content = answer.content?.['content'];
  if (typeof content !== 'string') throw mayNot(relative, 'the answer holds no text');
  // Half a character is refused, and not replaced.
  const bytes = encode(content, 'utf-8');
  if (bytes.length > mostTyped) throw tooLargeFor('form', relative, mostTyped);
  return bytes;
}
