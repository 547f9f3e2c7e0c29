/**
 * The bridge between a view and its host: JSON-RPC over `postMessage`, as MCP Apps of 2026-01-26 have it, and the few
 * functions by which views build their page. It is a script for the frame of a host and runs nowhere else. It trusts no
 * answer: what has another form than expected is nothing, and every request ends after a while.
 */
import { packageVersion } from '../../platform/version.ts';

/** Data of users reaches the page by `textContent` alone. No element has an address, but for pictures as data URIs. */
const elements = String.raw`
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const toList = (value) => (Array.isArray(value) ? value : []);
const toText = (value) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
const page = document.querySelector('#view');
function make(tag, given, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (name === 'class') element.className = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}
const show = (...children) => page.replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
const say = (words, kind = 'muted') => make('p', { class: kind, role: 'status' }, words);
const sayFailure = (error) => make('p', { class: 'note failed', role: 'alert' }, error instanceof Error ? error.message : String(error));
const button = (label, act, given) => make('button', { type: 'button', class: 'quiet small', ...given, click: act }, label);
const block = (text, given) => make('pre', { tabindex: '0', ...given }, text);
const picture = (address, name) =>
  /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*$/.test(address)
    ? make('figure', { class: 'picture' }, make('img', { src: address, alt: name }))
    : null;
function formatBytes(bytes) {
  if (typeof bytes !== 'number' || !(bytes >= 0)) return '';
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** step;
  return (step === 0 || amount >= 100 ? Math.round(amount) : Number(amount.toFixed(1))) + ' ' + units[step];
}
const formatCount = (count, one, many) => Number(count).toLocaleString('en') + ' ' + (count === 1 ? one : many);
`;

const messages = String.raw`
const host = (() => {
  const waiting = new Map();
  const handlers = {};
  let [last, capabilities, isOver] = [0, {}, false];
  const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const notify = (method, params = {}) => post({ method, params });

  function ask(method, params, ms = 90000) {
    return new Promise((resolve, reject) => {
      const id = ++last;
      const timer = setTimeout(() => settle(id, null, new Error('The host does not answer.')), ms);
      waiting.set(id, { resolve, reject, timer });
      post({ id, method, params });
    });
  }

  function settle(id, result, error) {
    const call = waiting.get(id);
    if (call === undefined) return;
    waiting.delete(id);
    clearTimeout(call.timer);
    if (error !== null) call.reject(error);
    else if (isObject(result)) call.resolve(result);
    else call.reject(new Error('The host answered nothing that can be read.'));
  }

  function applyContext(context) {
    if (!isObject(context)) return;
    if (context.theme === 'light' || context.theme === 'dark') document.documentElement.dataset.theme = context.theme;
  }

  function hear({ source, data }) {
    if (source !== parent || !isObject(data) || data.jsonrpc !== '2.0') return;
    const { id, method, params, result, error } = data;
    if (typeof method !== 'string')
      return settle(id, result, error === undefined ? null : new Error(toText(error?.message) || 'The host refused this.'));
    if (id !== undefined) return answer(id, method);
    if (method === 'ui/notifications/host-context-changed') return applyContext(params);
    const name = method.replace('ui/notifications/', '');
    if (Object.hasOwn(handlers, name)) handlers[name](isObject(params) ? params : {});
  }

  function answer(id, method) {
    if (method === 'ui/resource-teardown') isOver = true;
    if (method === 'ping' || method === 'ui/resource-teardown') return post({ id, result: {} });
    post({ id, error: { code: -32601, message: 'This view has no such method.' } });
  }

  const readText = ({ content }) =>
    toList(content).filter((part) => isObject(part) && part.type === 'text').map(({ text }) => toText(text)).join('\n');

  function readData(result) {
    const own = isObject(result._meta) ? result._meta['workcrate/view'] : null;
    if (isObject(own)) return own;
    return isObject(result.structuredContent) ? result.structuredContent : null;
  }

  async function call(name, given) {
    const result = await ask('tools/call', { name, arguments: given });
    if (result.isError === true) throw new Error(readText(result) || 'This did not work.');
    const data = readData(result);
    if (data === null) throw new Error('The host left out what this view shows.');
    return data;
  }

  async function openLink(url) {
    if (!/^https?:\/\//.test(url)) throw new Error('This is no address that can be opened.');
    const { isError } = await ask('ui/open-link', { url });
    if (isError === true) throw new Error('The host did not open this address: ' + url);
  }

  async function download({ downloadUrl, filename, mediaType }) {
    if (capabilities.downloadFile === undefined) return openLink(toText(downloadUrl));
    const link = { type: 'resource_link', uri: downloadUrl, name: filename, mimeType: mediaType };
    const { isError } = await ask('ui/download-file', { contents: [link] }, 600000);
    if (isError === true) throw new Error('The host did not download the file.');
  }

  async function tell(text) {
    const content = [{ type: 'text', text }];
    if (capabilities.message === undefined) return void (await ask('ui/update-model-context', { content }));
    const { isError } = await ask('ui/message', { role: 'user', content });
    if (isError === true) throw new Error('The host did not take the message.');
  }

  function watchSize() {
    let before = '';
    const report = () => {
      const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
      const width = Math.ceil(window.innerWidth);
      if (before === width + 'x' + height) return;
      before = width + 'x' + height;
      notify('ui/notifications/size-changed', { width, height });
    };
    new ResizeObserver(report).observe(document.documentElement);
    report();
  }

  async function start(view, given) {
    Object.assign(handlers, given);
    addEventListener('message', hear);
    const result = await ask('ui/initialize', {
      protocolVersion: '2026-01-26',
      appInfo: { name: 'workcrate-' + view, version: ${JSON.stringify(packageVersion)} },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    }, 10000);
    capabilities = isObject(result.hostCapabilities) ? result.hostCapabilities : {};
    applyContext(result.hostContext);
    notify('ui/notifications/initialized');
    watchSize();
  }

  return {
    start, call, openLink, download, tell, readData, readText,
    get canCall() { return capabilities.serverTools !== undefined; },
    get isOver() { return isOver; },
  };
})();

/** Runs what a button does: it cannot be pressed twice, and what goes wrong is said beside it. */
const press = (act) => async ({ currentTarget: pressed }) => {
  pressed.disabled = true;
  pressed.parentElement.querySelector('.failed')?.remove();
  try {
    await act(pressed);
  } catch (error) {
    pressed.after(sayFailure(error));
  } finally {
    pressed.disabled = false;
  }
};

/** Shows what there is of an answer: its data by the view, or its text. */
function startView(name, { showInput = () => {}, showResult }) {
  host.start(name, {
    'tool-input': ({ arguments: given }) => showInput(isObject(given) ? given : {}),
    'tool-cancelled': () => show(say('This call was cancelled.')),
    'tool-result': (result) => {
      const data = host.readData(result);
      const text = host.readText(result);
      if (result.isError === true) return show(sayFailure(text || 'This did not work.'));
      if (data !== null) return showResult(data, result);
      show(text === '' ? say('The answer has nothing that can be shown.') : block(text));
    },
  }).then(
    () => {
      const status = page.querySelector('[role="status"]');
      if (status !== null) status.textContent = 'Waiting for the answer …';
    },
    (error) => show(sayFailure(error.message + ' The text of the answer has everything.')),
  );
}
`;

export const bridge = `'use strict';${elements}${messages}`;
