/**
 * OpenTelemetry spans, if `--tracing` is on; otherwise every call is a plain function call. It brings no SDK and
 * exports nothing: the operator chooses one with `--import`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Context, Span } from '@opentelemetry/api';
import { asWorkcrateError, isOurFault, WorkcrateError } from '../errors.ts';
import type { Log } from './log.ts';

type Api = typeof import('@opentelemetry/api');

/** What a span may say. Never a token, a key, or a path that contains one. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Adds attributes that are known only later. */
export type AddAttributes = (attributes: Attributes) => void;

type TracedWork<T> = (tell: AddAttributes) => Promise<T>;

/** Spans, to see where time goes. If it is off, it costs a function call. */
export interface Tracing {
  readonly isOn: boolean;
  /** Runs `work` as a piece of what is under way. */
  span<T>(name: string, attributes: Attributes, work: TracedWork<T>): Promise<T>;
  /** Answers a request, as a part of the trace that its `traceparent` names. */
  request<T>(
    headers: IncomingHttpHeaders,
    name: string,
    attributes: Attributes,
    work: TracedWork<T>,
  ): Promise<T>;
}

const ignoreAttributes: AddAttributes = () => {};

const noTracing: Tracing = {
  isOn: false,
  span: (_name, _attributes, work) => work(ignoreAttributes),
  request: (_headers, _name, _attributes, work) => work(ignoreAttributes),
};

/** Through the API package alone: which SDK takes the spans, and where to, is the operator's choice. */
export async function openTracing(isOn: boolean, log: Log): Promise<Tracing> {
  if (!isOn) return noTracing;
  const api = await importApi();
  const tracer = api.trace.getTracer('workcrate');
  if (!api.isSpanContextValid(tracer.startSpan('workcrate start').spanContext()))
    log.warn('tracing.no_sdk', {
      message: 'Spans go nowhere: start Node with --import and an SDK of OpenTelemetry.',
    });

  function run<T>(span: Span, parent: Context, work: TracedWork<T>): Promise<T> {
    const inside = api.trace.setSpan(parent, span);
    return api.context.with(inside, () => runInSpan(api, span, work));
  }

  return {
    isOn: true,
    span(name, attributes, work) {
      const parent = api.context.active();
      return run(tracer.startSpan(name, { attributes }, parent), parent, work);
    },
    request(headers, name, attributes, work) {
      const parent = findParentContext(api, headers);
      const kind = api.SpanKind.SERVER;
      return run(tracer.startSpan(name, { attributes, kind }, parent), parent, work);
    },
  };
}

/** Refuses to trace without the package that takes the spans. */
export async function checkTracing(isOn: boolean): Promise<void> {
  if (isOn) await importApi();
}

async function importApi(): Promise<Api> {
  try {
    return await import('@opentelemetry/api');
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new WorkcrateError(
      'config_invalid',
      '--tracing needs the package @opentelemetry/api, which is not installed. Run: npm install @opentelemetry/api',
      { cause },
    );
  }
}

/** The text of an error may hold what is nobody's business, so its code has to do. */
async function runInSpan<T>(api: Api, span: Span, work: TracedWork<T>): Promise<T> {
  try {
    return await work((attributes) => span.setAttributes(attributes));
  } catch (error) {
    const known = asWorkcrateError(error);
    span.setAttribute('error.type', known.code);
    if (isOurFault(known)) span.setStatus({ code: api.SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** `version-trace-span-flags` in hex, as W3C has it; later versions may have more behind. */
const traceparent = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** The id of the trace that a `traceparent` names; null for anything else. */
export const readTraceId = (value: unknown): string | null =>
  typeof value === 'string' ? (traceparent.exec(value)?.[1] ?? null) : null;

/** An instrumentation around this server has begun a span already, and knows better. */
function findParentContext(api: Api, headers: IncomingHttpHeaders): Context {
  const active = api.context.active();
  if (api.trace.getSpan(active) !== undefined) return active;
  const [, traceId, spanId, flags] = traceparent.exec(String(headers['traceparent'])) ?? [];
  if (traceId === undefined || spanId === undefined) return active;
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16), isRemote: true };
  return api.isSpanContextValid(remote) ? api.trace.setSpanContext(active, remote) : active;
}
