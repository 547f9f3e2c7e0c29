export type Version = '2026-07-28' | '2025-11-25' | '2025-06-18';

export const versions: readonly Version[] = ['2026-07-28', '2025-11-25', '2025-06-18'];

export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  /** Of an answer. */
  readonly result?: unknown;
}

const clientInfo = { name: 'by hand', version: '1' };

/** The handshake of a version as plain messages, and how a request of it is written. */
export function openingOf(version: Version, capabilities: Record<string, unknown> = {}) {
  const request = (id: number, method: string, params: Record<string, unknown> = {}): Message => ({
    jsonrpc: '2.0',
    id,
    method,
    params: version === '2026-07-28' ? inEnvelope(params, capabilities) : params,
  });
  return {
    request,
    opening: version === '2026-07-28' ? [request(1, 'server/discover')] : handshake(version, capabilities),
  };
}

/** From 2026-07-28 on, every request says for itself who sends it and what the sender can do. */
function inEnvelope(
  { _meta, ...params }: Record<string, unknown>,
  capabilities: Record<string, unknown>,
): Record<string, unknown> {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  return { ...params, _meta: { ...envelope, ...(_meta as object) } };
}

export function handshake(version: Version, capabilities: Record<string, unknown> = {}): Message[] {
  const params = { protocolVersion: version, capabilities, clientInfo };
  return [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
  ];
}
