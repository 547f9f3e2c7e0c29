/**
 * The bridge between a view and its host: JSON-RPC over `postMessage`, as MCP Apps of 2026-01-26 have it. It runs in the
 * frame of a host and nowhere else. It trusts no answer: what has another form than expected is nothing, and every
 * request ends after a while.
 */

/** What came by the host: every field may be missing, or be anything. */
export type Untrusted = Readonly<Record<string, unknown>>;

/** An answer whose fields have names that we know, and values that nobody has checked. */
export type Unproven<Answer> = { readonly [Name in keyof NonNullable<Answer>]?: unknown };

export const isObject = (value: unknown): value is Untrusted =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const toObject = (value: unknown): Untrusted => (isObject(value) ? value : {});
export const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const toObjects = (value: unknown): readonly Untrusted[] => toList(value).filter(isObject);
export const toText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
export const asNumber = (value: unknown): number | null => (Number.isFinite(value) ? Number(value) : null);

const protocolVersion = '2026-01-26';
const hostAnswerMs = 90_000;
const hostStartMs = 10_000;
const downloadMs = 600_000;

interface WaitingRequest {
  readonly resolve: (result: Untrusted) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** What a view does when it hears of its call. */
export type HostListeners = Readonly<Record<string, (params: Untrusted) => void>>;

const waitingRequests = new Map<unknown, WaitingRequest>();
let listeners: HostListeners = {};
let lastId = 0;
let capabilities: Untrusted = {};
let isHostGone = false;

function post(message: object): void {
  parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
}

function askHost(method: string, params: object, ms = hostAnswerMs): Promise<Untrusted> {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settleRequest(id, null, 'The host does not answer.'), ms);
    waitingRequests.set(id, { resolve, reject, timer });
    post({ id, method, params });
  });
}

function settleRequest(id: unknown, result: unknown, failure: string | null): void {
  const request = waitingRequests.get(id);
  if (request === undefined) return;
  waitingRequests.delete(id);
  clearTimeout(request.timer);
  if (failure !== null) request.reject(new Error(failure));
  else if (isObject(result)) request.resolve(result);
  else request.reject(new Error('The host answered nothing that can be read.'));
}

function hear({ source, data }: MessageEvent<unknown>): void {
  if (source !== parent || !isObject(data) || data.jsonrpc !== '2.0') return;
  const { id, method, params, result, error } = data;
  if (typeof method !== 'string')
    return settleRequest(id, result, error === undefined ? null : readFailure(error));
  if (id !== undefined) return answer(id, method);
  if (method === 'ui/notifications/host-context-changed') return applyTheme(params);
  const name = method.replace('ui/notifications/', '');
  if (Object.hasOwn(listeners, name)) listeners[name]!(toObject(params));
}

const readFailure = (error: unknown): string => toText(toObject(error).message) || 'The host refused this.';

function answer(id: unknown, method: string): void {
  if (method === 'ui/resource-teardown') isHostGone = true;
  if (method === 'ping' || method === 'ui/resource-teardown') return post({ id, result: {} });
  post({ id, error: { code: -32601, message: 'This view has no such method.' } });
}

function applyTheme(context: unknown): void {
  const { theme } = toObject(context);
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}

/** The frame takes its size from the page. */
function reportSize(): void {
  let before = '';
  const report = (): void => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    const width = Math.ceil(window.innerWidth);
    if (before === `${width}x${height}`) return;
    before = `${width}x${height}`;
    post({ method: 'ui/notifications/size-changed', params: { width, height } });
  };
  new ResizeObserver(report).observe(document.documentElement);
  report();
}

export const toAnswerText = (result: Untrusted): string =>
  toObjects(result.content)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => toText(text))
    .join('\n');

/** The typed value of an answer; null where the host left it out. */
export function readData({ _meta, structuredContent }: Untrusted): Untrusted | null {
  const own = toObject(_meta)['workcrate/view'];
  if (isObject(own)) return own;
  return isObject(structuredContent) ? structuredContent : null;
}

export const host = {
  get canCall(): boolean {
    return capabilities.serverTools !== undefined;
  },
  get isOver(): boolean {
    return isHostGone;
  },

  async start(view: string, given: HostListeners): Promise<void> {
    listeners = given;
    addEventListener('message', hear);
    const appInfo = {
      name: `workcrate-${view}`,
      version: document.documentElement.dataset.version ?? '',
    };
    const appCapabilities = { availableDisplayModes: ['inline', 'fullscreen'] };
    const result = await askHost('ui/initialize', { protocolVersion, appInfo, appCapabilities }, hostStartMs);
    capabilities = toObject(result.hostCapabilities);
    applyTheme(result.hostContext);
    post({ method: 'ui/notifications/initialized', params: {} });
    reportSize();
  },

  async call(name: string, given: object): Promise<Untrusted> {
    const result = await askHost('tools/call', { name, arguments: given });
    if (result.isError === true) throw new Error(toAnswerText(result) || 'This did not work.');
    const data = readData(result);
    if (data === null) throw new Error('The host left out what this view shows.');
    return data;
  },

  async openLink(address: unknown): Promise<void> {
    const url = toText(address);
    if (!/^https?:\/\//.test(url)) throw new Error('This is no address that can be opened.');
    const { isError } = await askHost('ui/open-link', { url });
    if (isError === true) throw new Error(`The host did not open this address: ${url}`);
  },

  async download({ downloadUrl, filename, mediaType }: Untrusted): Promise<void> {
    if (capabilities.downloadFile === undefined) return host.openLink(downloadUrl);
    const link = { type: 'resource_link', uri: downloadUrl, name: filename, mimeType: mediaType };
    const { isError } = await askHost('ui/download-file', { contents: [link] }, downloadMs);
    if (isError === true) throw new Error('The host did not download the file.');
  },

  /** Tells the model, or only lets it know where the host takes no messages. */
  async tell(text: string): Promise<void> {
    const content = [{ type: 'text', text }];
    if (capabilities.message === undefined)
      return void (await askHost('ui/update-model-context', { content }));
    const { isError } = await askHost('ui/message', { role: 'user', content });
    if (isError === true) throw new Error('The host did not take the message.');
  },
};
