import type { CallToolResult } from '@modelcontextprotocol/server';

/** A PNG of one pixel. */
export const image = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
} as const;

/** A WAV file without a sample. */
export const audio = {
  type: 'audio',
  mimeType: 'audio/wav',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=',
} as const;

export const textBlock = (text: string) => ({ type: 'text', text }) as const;

export const saying = (text: string): CallToolResult => ({ content: [textBlock(text)] });

export const resourceBlock = (uri: string, mimeType: string, text: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text } }) as const;
