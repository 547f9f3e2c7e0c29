import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/server';
import { image } from './samples.ts';

/** Resources: text, binary, by template, and one to subscribe to. */
export function addResources(server: McpServer): void {
  server.server.registerCapabilities({ resources: { subscribe: true, listChanged: false } });
  addText(server, 'test://static-text', 'This is the content of the static text resource.');
  addText(server, 'test://watched-resource', 'This resource can be subscribed to.');
  const { mimeType, data: blob } = image;
  server.registerResource('static-binary', 'test://static-binary', { mimeType }, ({ href: uri }) => ({
    contents: [{ uri, mimeType, blob }],
  }));
  addTemplate(server);
  // Nothing here ever changes: to accept the wish is all there is to do.
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

function addText(server: McpServer, uri: string, text: string): void {
  const mimeType = 'text/plain';
  server.registerResource(new URL(uri).host, uri, { mimeType }, () => ({
    contents: [{ uri, mimeType, text }],
  }));
}

function addTemplate(server: McpServer): void {
  const mimeType = 'application/json';
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { mimeType }, ({ href: uri }, { id }) => ({
    contents: [
      { uri, mimeType, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }) },
    ],
  }));
}
