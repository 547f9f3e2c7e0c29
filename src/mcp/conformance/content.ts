import type { CallToolResult, ContentBlock, McpServer } from '@modelcontextprotocol/server';
import { audio, image, resourceBlock, saying, textBlock } from './samples.ts';

const contents: Record<string, readonly ContentBlock[]> = {
  test_simple_text: [textBlock('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [audio],
  test_embedded_resource: [
    resourceBlock('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: [
    textBlock('Multiple content types test:'),
    image,
    resourceBlock('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
};

/** Tools that answer with each kind of content, and one that fails. */
export function addContentTools(server: McpServer): void {
  for (const [name, content] of Object.entries(contents))
    server.registerTool(name, { description: 'Answers with fixed content' }, () => ({
      content: [...content],
    }));
  server.registerTool('test_error_handling', { description: 'Always fails' }, failing);
}

function failing(): CallToolResult {
  return { ...saying('This tool intentionally returns an error for testing'), isError: true };
}
