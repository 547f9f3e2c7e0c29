import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import { findBrokenBound, smallMessage, tooComplex } from '../message-bounds.ts';
import { createHeadingReader, type Heading } from './heading.ts';

/** Why a line is no message, and what it says of itself all the same. */
export interface Misread extends Heading {
  readonly code: ProtocolErrorCode;
  readonly why: string;
}

/** The message in a line; null in one that is blank. Some programs write a byte order mark first, which is no fault. */
export function readMessage(line: Buffer): JSONRPCMessage | Misread | null {
  const text = line.toString().trim();
  if (text === '') return null;
  const bound = line.length > smallMessage ? findBrokenBound(text) : null;
  if (bound !== null) return { ...readHeading(line), ...unfit, why: tooComplex(bound) };
  try {
    const value: unknown = JSON.parse(text);
    return isMessage(value) ? parseJSONRPCMessage(value) : { ...headingOf(value), ...unfit };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { id: null, hasMethod: true, ...unparsed };
  }
}

/** Without parsing all of it. */
function readHeading(line: Buffer): Heading {
  const reader = createHeadingReader();
  reader.push(line);
  return reader.heading();
}

export const isMisread = (read: JSONRPCMessage | Misread): read is Misread => 'why' in read;

const unfit = {
  code: ProtocolErrorCode.InvalidRequest,
  why: 'This is not a JSON-RPC 2.0 message. Send one at a time, with "jsonrpc": "2.0", a text or whole number as id, and an object as params.',
};

const unparsed = {
  code: ProtocolErrorCode.ParseError,
  why: 'This line is not JSON. Send each message in one line, as JSON in UTF-8.',
};

const kinds = [isJSONRPCRequest, isJSONRPCNotification, isJSONRPCResultResponse, isJSONRPCErrorResponse];
const isMessage = (value: unknown): boolean => kinds.some((isOne) => isOne(value));

function headingOf(value: unknown): Heading {
  if (typeof value !== 'object' || value === null) return { id: null, hasMethod: true };
  const { id } = value as { id?: unknown };
  const isId = typeof id === 'string' || Number.isSafeInteger(id);
  // What has neither id nor method answers nothing of ours.
  return { id: isId ? (id as string | number) : null, hasMethod: !isId || 'method' in value };
}
