import {
  inputRequired,
  type CreateMessageRequestParams,
  type InputRequest,
  type InputResponseView,
} from '@modelcontextprotocol/server';
import { fromBase64 } from '../text/base64.ts';
import { encode } from '../text/encode.ts';
import { mostTyped } from './choose.ts';
import type { Errand } from './errand.ts';
import { mayNot, notThere, tooLargeFor } from './failures.ts';

/** A file as a model gave it, with what it says of the file. */
export interface Typed {
  readonly bytes: Uint8Array;
  readonly size: number | null;
  readonly sha256: string | null;
}

type SamplingTools = NonNullable<CreateMessageRequestParams['tools']>;

/** So that a model can give the content as an argument, where nothing is added to it. */
const tools: SamplingTools = [
  {
    name: 'guide_cache_file',
    description: 'Gives the server the content of a file of the project',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        content: { type: 'string' },
        binary: { type: 'boolean', description: 'Whether content is base64' },
      },
      required: ['path', 'content'],
    },
  },
];

const mostTokens = 32_000;

/** Asks the client's model to type a file. The marks are new each time, so no file can hold them. */
export function samplingRequest(errand: Errand, mark: string, withTools: boolean): InputRequest {
  return inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt(errand, mark) } }],
    maxTokens: mostTokens,
    temperature: 0,
    ...(withTools && errand.operation === 'read' ? { tools, toolChoice: { mode: 'auto' } } : {}),
  });
}

function prompt({ operation, path, binary, recursive, pattern }: Errand, mark: string): string {
  const shown = JSON.stringify(path.relative || '.');
  const wanted =
    operation === 'read'
      ? `Give the exact content of the file ${shown} of the project${binary ? ', in base64' : ''}: every character, nothing left out, nothing added.`
      : `List the folder ${shown} of the project${recursive ? ' and all folders below it' : ''}${pattern === null ? '' : `, only what fits ${JSON.stringify(pattern)}`}. ` +
        'One JSON object a line, with path (from the project\'s folder), type (file, folder, link or other), size and mtime (milliseconds): {"path":"docs/a.md","type":"file","size":120,"mtime":1790000000000}.';
  const cached =
    operation === 'read'
      ? 'Or call guide_cache_file with the path and the content, and answer with CACHED. '
      : '';
  return (
    `${wanted} Write it between two lines that read BEGIN-${mark} and END-${mark}, with no code fence. ${cached}` +
    `If there is no such thing, answer NOT-FOUND-${mark}; if you may not read it, answer DENIED-${mark}.`
  );
}

/** Null where the answer gives nothing itself: it may have come by guide_cache_file. */
export function samplingAnswer(errand: Errand, mark: string, answer: InputResponseView): Typed | null {
  const { relative } = errand.path;
  if (answer.kind !== 'sampling') throw mayNot(relative, 'the client sent no answer to the question');
  const blocks = ([answer.result.content].flat() as readonly (Record<string, unknown> | null)[]).filter(
    (block) => typeof block === 'object' && block !== null,
  );
  const called = blocks.find(({ type, name }) => type === 'tool_use' && name === 'guide_cache_file');
  if (called) return fromCall(errand, called['input']);
  const text = blocks.map((block) => (typeof block['text'] === 'string' ? block['text'] : '')).join('');
  const given = between(text, `BEGIN-${mark}`, `END-${mark}`);
  if (given !== null) return typed(relative, given, errand.binary);
  if (text.includes(`NOT-FOUND-${mark}`)) throw notThere(relative, 'client');
  if (text.includes(`DENIED-${mark}`)) throw mayNot(relative, 'the client may not read it');
  if (answer.result.stopReason === 'maxTokens') throw tooLargeFor('sampling', relative, mostTyped);
  return null;
}

/** An answer about another file than the one asked for is none. */
function fromCall(errand: Errand, input: unknown): Typed {
  const { relative, absolute } = errand.path;
  const { path, content, binary, size, sha256 } = (input ?? {}) as Record<string, unknown>;
  if ((path !== relative && path !== absolute) || typeof content !== 'string')
    throw mayNot(relative, 'the client gave another file');
  const told = {
    size: typeof size === 'number' ? size : null,
    sha256: typeof sha256 === 'string' ? sha256.toLowerCase() : null,
  };
  return { ...typed(relative, content, binary === true), ...told };
}

function typed(path: string, content: string, isBase64: boolean): Typed {
  // Base64 takes four characters for three bytes.
  if (content.length > mostTyped * 2) throw tooLargeFor('sampling', path, mostTyped);
  const bytes = isBase64 ? fromBase64(content) : encode(content, 'utf-8');
  if (bytes.length > mostTyped) throw tooLargeFor('sampling', path, mostTyped);
  return { bytes, size: null, sha256: null };
}

/** What stands between two lines; the last line break belongs to the mark. */
function between(text: string, begin: string, end: string): string | null {
  const mark = new RegExp(`${RegExp.escape(begin)}\\r?\\n`).exec(text);
  const to = text.lastIndexOf(end);
  if (mark === null || to < mark.index + mark[0].length) return null;
  return text.slice(mark.index + mark[0].length, to).replace(/\r?\n$/, '');
}
