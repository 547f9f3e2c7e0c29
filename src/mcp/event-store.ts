import { randomUUID } from 'node:crypto';
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

const mostEvents = 256;
const mostCharacters = 1024 * 1024;

interface StoredEvent {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

/** The latest events of one session, so that a client that lost its stream gets what it missed. */
export function createEventStore(): EventStore {
  const events = new Map<string, StoredEvent>();
  let characters = 0;

  function dropOldest(): void {
    for (const [id, { size }] of events) {
      if (events.size <= mostEvents && characters <= mostCharacters) return;
      events.delete(id);
      characters -= size;
    }
  }

  return {
    async storeEvent(stream, message) {
      const id = randomUUID();
      const size = JSON.stringify(message).length;
      events.set(id, { stream, message, size });
      characters += size;
      dropOldest();
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
