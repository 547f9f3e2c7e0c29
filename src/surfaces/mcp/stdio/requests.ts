import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import {
  colonCode,
  commaCode,
  findBrokenBound,
  isClosingCode,
  isOpeningCode,
  quoteCode,
  smallMessage,
  toComplexityMessage,
} from '../http.ts';

/** Why a line is not a message, and its heading if that could be read. */
export interface Misread extends MessageHeading {
  readonly code: ProtocolErrorCode;
  readonly why: string;
}

/**
 * Reads the message in a line; null for a blank one. Some programs write a byte order mark first, which is accepted.
 */
export function readStdioMessage(line: Buffer): JSONRPCMessage | Misread | null {
  const text = line.toString().trim();
  if (text === '') return null;
  const bound = line.length > smallMessage ? findBrokenBound(text) : null;
  if (bound !== null) return { ...readHeading(line), ...notJsonRpc, why: toComplexityMessage(bound) };
  try {
    const value: unknown = JSON.parse(text);
    return isMessage(value) ? parseJSONRPCMessage(value) : { ...toHeading(value), ...notJsonRpc };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { id: null, hasMethod: true, ...unparsed };
  }
}

/** Without parsing all of it. */
function readHeading(line: Buffer): MessageHeading {
  const reader = createHeadingReader();
  reader.push(line);
  return reader.heading();
}

export const isMisread = (read: JSONRPCMessage | Misread): read is Misread => 'why' in read;

const notJsonRpc = {
  code: ProtocolErrorCode.InvalidRequest,
  why: 'This is not a JSON-RPC 2.0 message. Send one at a time, with "jsonrpc": "2.0", a text or whole number as id, and an object as params.',
};

const unparsed = {
  code: ProtocolErrorCode.ParseError,
  why: 'This line is not JSON. Send each message in one line, as JSON in UTF-8.',
};

const messageKinds = [
  isJSONRPCRequest,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
  isJSONRPCErrorResponse,
];
const isMessage = (value: unknown): boolean => messageKinds.some((isOne) => isOne(value));

function toHeading(value: unknown): MessageHeading {
  if (typeof value !== 'object' || value === null) return { id: null, hasMethod: true };
  const { id } = value as { id?: unknown };
  const isId = typeof id === 'string' || Number.isSafeInteger(id);
  // A message with neither id nor method answers no request of ours.
  return { id: isId ? (id as string | number) : null, hasMethod: !isId || 'method' in value };
}

/** The part of a message that is needed to answer it. */
export interface MessageHeading {
  /** Null where it has none, or an invalid one. */
  readonly id: string | number | null;
  /** Whether it is a request; otherwise it is an answer. */
  readonly hasMethod: boolean;
}

const backslashCode = 0x5c;
/** Longer than any id in practice. */
const maxTokenBytes = 1024;

/**
 * Reads the heading of a message that is too large to keep, while it streams by. Nested keys, and text within strings,
 * are ignored; the id may be first or last.
 */
export function createHeadingReader() {
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  let token: number[] = [];
  let key: unknown = null;
  const members = new Map<unknown, unknown>();

  function keep(byte: number): void {
    if (depth === 1 && token.length < maxTokenBytes) token.push(byte);
  }

  function endMember(): void {
    if (key === 'id' || key === 'method') members.set(key, parseToken(token));
    key = null;
    token = [];
  }

  function readText(byte: number): void {
    keep(byte);
    if (isEscaped) isEscaped = false;
    else if (byte === backslashCode) isEscaped = true;
    else if (byte === quoteCode) inText = false;
  }

  function read(byte: number): void {
    if (isOpeningCode(byte)) depth++;
    else if (isClosingCode(byte)) {
      if (--depth === 0) endMember();
    } else if (depth === 1 && byte === commaCode) endMember();
    else if (depth === 1 && byte === colonCode) {
      key = parseToken(token);
      token = [];
    } else {
      keep(byte);
      inText = byte === quoteCode;
    }
  }

  return {
    push(bytes: Uint8Array): void {
      // By index, which is twice as fast as by iterator: tens of megabytes may come.
      for (let at = 0; at < bytes.length; at++)
        if (inText) readText(bytes[at]!);
        else read(bytes[at]!);
    },
    heading(): MessageHeading {
      const id = members.get('id');
      const isId = typeof id === 'string' || Number.isSafeInteger(id);
      return { id: isId ? (id as string | number) : null, hasMethod: members.has('method') };
    },
  };
}

/** Undefined for what is nested, too long or no JSON. */
function parseToken(token: readonly number[]): unknown {
  try {
    return JSON.parse(Buffer.from(token).toString()) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
