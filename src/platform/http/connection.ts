/**
 * Counts the requests of each connection: how many wait for their answers, and how many there have been. The listener
 * counts them; a route asks whether anything came after its own request.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Requests {
  all: number;
  unanswered: number;
}

const requestsOf = new WeakMap<Socket, Requests>();

/** Unanswered requests that one connection may have; clients that read their answers stay far below. */
const maxPipelined = 100;

/** Counts a request; false where its connection has too many of them unanswered. */
export function admitRequest(socket: Socket, res: ServerResponse): boolean {
  const requests = requestsOf.get(socket) ?? { all: 0, unanswered: 0 };
  requestsOf.set(socket, requests);
  requests.all++;
  requests.unanswered++;
  res.once('close', () => requests.unanswered--);
  return requests.unanswered <= maxPipelined;
}

/** How many requests have come on a connection. Called at once by a route, it is the place of its own request. */
export const countRequestsOfConnection = (socket: Socket): number => requestsOf.get(socket)?.all ?? 0;
