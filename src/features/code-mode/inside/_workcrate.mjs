// Calls tools of the server that runs this code, over the descriptor that the run was given. The modules beside this one
// have a function for each tool. A call gives the tool's value, or rejects with a ToolError. What is large, or is no text,
// is a File in the working directory; what a tool only points at is a Link, whose bytes `.save(path)` writes there.
import { Socket } from 'node:net';
import { resolve } from 'node:path';

const descriptor = 5;
const mostBytes = 1024 ** 2;

/** A call that failed. `text` says why, in the words of the tool or of the server. */
export class ToolError extends Error {
  constructor(server, tool, text) {
    super(`${tool}: ${text}`);
    this.name = 'ToolError';
    this.server = server;
    this.tool = tool;
    this.text = text;
  }
}

/** A file in the working directory, with what a call gave. */
export class File {
  constructor({ name, path, size, media_type }) {
    this.name = name;
    this.path = path;
    this.size = size;
    this.mediaType = media_type;
  }
  toString() {
    return this.path;
  }
}

/** What a tool points at. Its bytes are not here until `save`. */
export class Link {
  constructor({ uri, name, size, media_type }) {
    this.uri = uri;
    this.name = name;
    this.size = size;
    this.mediaType = media_type;
  }
  /** Writes the bytes to a new file in /workspace or /artifacts, and gives it as a File. */
  save(path) {
    return save(this.uri, path);
  }
}

/** Calls a tool by its name. */
export async function call(name, input = {}) {
  return readAnswer(await ask({ call: name, arguments: input }, name));
}

/** Writes the bytes of a stored file, by its file_id, or of a download link to a new file. */
export async function save(source, path) {
  return new File(await ask({ save: source, path: resolve(String(path)) }, 'save'));
}

const waiting = new Map();
let socket = null;
let last = 0;
let end = null;
let parts = [];
let size = 0;

async function ask(question, tool) {
  const id = ++last;
  const frame = Buffer.from(JSON.stringify({ id, ...question }));
  if (frame.length > mostBytes)
    throw new ToolError(
      'workcrate',
      tool,
      'The arguments have more than 1 MB. Put the data into a file, and name that.',
    );
  open();
  if (end !== null) throw new ToolError('workcrate', tool, end);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(frame.length);
  const { promise, resolve: settle } = Promise.withResolvers();
  waiting.set(id, settle);
  // The process ends when nothing waits any more.
  socket.ref();
  socket.write(Buffer.concat([head, frame]));
  const answer = await promise;
  if (waiting.size === 0) socket.unref();
  if (answer.end !== undefined) throw new ToolError('workcrate', tool, answer.end);
  if (answer.error !== undefined)
    throw new ToolError(answer.error.server, answer.error.tool, answer.error.text);
  return answer.ok;
}

function open() {
  if (socket !== null) return;
  try {
    socket = new Socket({ fd: descriptor, readable: true, writable: true });
  } catch {
    return finish('This process cannot call tools: only the one that the run began with can.');
  }
  const closed = () => finish('The run can call no more tools: its connection is closed.');
  socket.on('data', take).on('error', closed).on('close', closed).unref();
}

function finish(text) {
  end ??= text;
  for (const settle of waiting.values()) settle({ end });
  waiting.clear();
}

function take(chunk) {
  parts.push(chunk);
  size += chunk.length;
  for (;;) {
    if (size < 4) return;
    if (parts[0].length < 4) parts = [Buffer.concat(parts)];
    const length = parts[0].readUInt32BE(0);
    if (size < 4 + length) return;
    const all = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const rest = all.subarray(4 + length);
    parts = rest.length === 0 ? [] : [rest];
    size = rest.length;
    handle(JSON.parse(all.toString('utf8', 4, 4 + length)));
  }
}

function handle(answer) {
  if (answer.end !== undefined) return finish(answer.end);
  const settle = waiting.get(answer.id);
  waiting.delete(answer.id);
  settle?.(answer);
}

function readAnswer(answer) {
  if (answer.items !== undefined) {
    const items = answer.items.map(readItem);
    return items.length === 1 ? items[0] : items.length === 0 ? null : items;
  }
  const { value, links: givenLinks = [], files: givenFiles = [] } = answer;
  const links = givenLinks.map((link) => new Link(link));
  const files = givenFiles.map((file) => new File(file));
  if (links.length + files.length === 0) return value;
  const saveOne = (path) => {
    if (links.length !== 1) throw new TypeError(`This result has ${links.length} links: save one of .links.`);
    return links[0].save(path);
  };
  // Beside the value, and not part of it.
  for (const [name, what] of Object.entries({ links, files, save: saveOne }))
    if (!(name in value)) Object.defineProperty(value, name, { value: what, enumerable: false });
  return value;
}

function readItem(item) {
  if (item.link !== undefined) return new Link(item.link);
  return item.file === undefined ? item.value : new File(item.file);
}
