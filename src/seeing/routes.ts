/** Names of routes for logs, spans and counters: the shape of a path and never the path, which may be a right. */
const plain = new Set([
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
  if (plain.has(path)) return path;
  const [, first = '', second, ...more] = path.split('/');
  if (first === 'files' || first === 'uploads' || first === 'ask') return `/${first}/{token}`;
  if (first === 'executions') return '/executions/{id}';
  if (first === '.well-known') return '/.well-known';
  if (second === 'artifacts')
    return more.length === 0 ? '/{user_id}/artifacts' : '/{user_id}/artifacts/{artifact_id}';
  return 'other';
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export const methodName = (method = ''): string => (methods.has(method) ? method : 'other');
