import { randomUUID } from 'node:crypto';
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

const mostEvents = 256;
const mostCharacters = 1024 * 1024;
const mostInAll = 32 * 1024 * 1024;

interface StoredEvent {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

/** What one session keeps. */
interface Kept {
  readonly events: Map<string, StoredEvent>;
  characters: number;
}

/**
 * The latest events of each session, so that a client that lost its stream gets what it missed. They are bounded in each
 * session and in all of them together, where the oldest go first, whosever they are: two bounds over the same entries,
 * and so no bounded map.
 */
export function createEventStores(most = mostInAll) {
  /** In the order in which they came. */
  const owners = new Map<string, Kept>();
  let characters = 0;

  function drop(id: string, kept: Kept): void {
    const { size } = kept.events.get(id)!;
    kept.events.delete(id);
    kept.characters -= size;
    owners.delete(id);
    characters -= size;
  }

  function makeRoom(kept: Kept): void {
    for (const id of kept.events.keys()) {
      if (kept.events.size <= mostEvents && kept.characters <= mostCharacters) break;
      drop(id, kept);
    }
    for (const [id, owner] of owners) {
      if (characters <= most) return;
      drop(id, owner);
    }
  }

  /** The events of one session, until it is disposed of. */
  function open(): EventStore & Disposable {
    const kept: Kept = { events: new Map(), characters: 0 };
    return {
      async storeEvent(stream, message) {
        const id = randomUUID();
        const size = JSON.stringify(message).length;
        kept.events.set(id, { stream, message, size });
        kept.characters += size;
        owners.set(id, kept);
        characters += size;
        makeRoom(kept);
        return id;
      },
      getStreamIdForEventId: async (id) => kept.events.get(id)?.stream,
      async replayEventsAfter(lastId, { send }) {
        const stream = kept.events.get(lastId)?.stream ?? '';
        let past = false;
        for (const [id, event] of kept.events) {
          const hasContent = Object.keys(event.message).length > 0;
          if (past && event.stream === stream && hasContent) await send(id, event.message);
          past ||= id === lastId;
        }
        return stream;
      },
      [Symbol.dispose]() {
        for (const id of kept.events.keys()) drop(id, kept);
      },
    };
  }

  return { open, size: (): number => characters };
}
