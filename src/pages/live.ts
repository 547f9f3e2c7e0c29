/**
 * What a run prints, as Server-Sent Events, and the script that shows it. The run is followed by itself and not by its
 * tool: a page that watches would write a line of the audit log each time. A browser whose connection is lost goes on
 * from the last event that it has (`Last-Event-ID`).
 */
import type { Executions } from '../executions/executions.ts';
import type { Visitor } from './page-tools.ts';

// outbound: it is the browser that asks, in the page of a run

/** The one script of these pages. */
export const liveScript = `'use strict';
const shown = document.querySelector('#live');
if (shown !== null) {
  const address = '/runs/' + shown.dataset.run + '/live?from=' + shown.dataset.from;
  const events = new EventSource(address);
  const most = 200000;
  events.addEventListener('output', (event) => {
    const stays = shown.scrollTop + shown.clientHeight < shown.scrollHeight - 40;
    const text = shown.textContent + JSON.parse(event.data);
    shown.textContent = text.length > most ? text.slice(-most) : text;
    if (!stays) shown.scrollTop = shown.scrollHeight;
  });
  events.addEventListener('end', () => { events.close(); location.reload(); });
}
`;

/** How long the tool waits for the end of a run before the page hears what was printed since. */
const lookMs = 150;
const maxLiveMs = 3_600_000;
const maxEventCharacters = 32 * 1024;

/** The events of one run until it ends or the browser goes away. */
export function streamRun(
  { follow }: Pick<Executions, 'follow'>,
  visitor: Visitor,
  id: string,
  from: number,
): Response {
  const encoder = new TextEncoder();
  const gone = new AbortController();
  const signal = AbortSignal.any([visitor.signal, gone.signal]);
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (event: string, data: unknown, place: number): void =>
        controller.enqueue(
          encoder.encode(`id: ${place}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
        );
      try {
        const until = performance.now() + maxLiveMs;
        for (let at = from; !signal.aborted && performance.now() < until;) {
          const { execution, readOutput } = await follow(visitor.caller, id, { waitMs: lookMs, signal });
          const output = readOutput(at, maxEventCharacters);
          if (output !== null && output.text !== '') send('output', output.text, output.next);
          at = output?.next ?? at;
          if (execution.reason === 'running' || (output !== null && at < output.end)) continue;
          send('end', execution.reason, at);
          break;
        }
        controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: () => gone.abort(),
  });
  return new Response(body, {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    },
  });
}
