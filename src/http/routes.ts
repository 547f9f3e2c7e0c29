/** Routes whose path ends in a token, which is the whole permission. Such a path may not be logged. */
export const tokenRooms = ['files', 'uploads', 'ask'] as const;

export type TokenRoom = (typeof tokenRooms)[number];

export const isTokenRoom = (room: string | undefined): room is TokenRoom =>
  (tokenRooms as readonly (string | undefined)[]).includes(room);

/** Names of routes for logs, spans and counters: the pattern of a path, never the path, which may contain a token. */
const fixedPaths = new Set([
  '/',
  '/mcp',
  '/executions',
  '/livez',
  '/readyz',
  '/metrics',
  '/status',
  '/openapi.json',
]);

export function routeName(url: string): string {
  const path = url.split('?', 1)[0]!;
  if (fixedPaths.has(path)) return path;
  const [, first = '', second, ...more] = path.split('/');
  if (isTokenRoom(first)) return `/${first}/{token}`;
  if (first === 'executions') return '/executions/{id}';
  if (first === '.well-known') return '/.well-known';
  if (second === 'artifacts')
    return more.length === 0 ? '/{user_id}/artifacts' : '/{user_id}/artifacts/{artifact_id}';
  return 'other';
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export const methodName = (method = ''): string => (methods.has(method) ? method : 'other');
