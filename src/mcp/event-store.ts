import { randomUUID } from 'node:crypto';
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

const mostEvents = 256;

/** The latest events of one session, so that a client that lost its stream gets what it missed. */
export function createEventStore(): EventStore {
  const events = new Map<string, { stream: string; message: JSONRPCMessage }>();
  return {
    async storeEvent(stream, message) {
      const id = randomUUID();
      events.set(id, { stream, message });
      if (events.size > mostEvents) events.delete(events.keys().next().value!);
      return id;
    },
    getStreamIdForEventId: async (id) => events.get(id)?.stream,
    async replayEventsAfter(lastId, { send }) {
      const stream = events.get(lastId)?.stream ?? '';
      let past = false;
      for (const [id, event] of events) {
        const hasContent = Object.keys(event.message).length > 0;
        if (past && event.stream === stream && hasContent) await send(id, event.message);
        past ||= id === lastId;
      }
      return stream;
    },
  };
}
