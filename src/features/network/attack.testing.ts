import type { EgressRefusalKind } from './egress.ts';

/**
 * Where attacks on the proxy are played. All names and ports lead to servers on loopback, which stand for the outside
 * and record whoever comes.
 */
export interface AttackScene {
  /** A host that is allowed on ports 80 and 443, where a server answers. */
  readonly allowed: string;
  /** Everything below this name is allowed, and the name itself is not. */
  readonly wildcard: string;
  /** A host that no rule allows. */
  readonly other: string;
  /** A server on loopback that answers THROUGH, and that nobody may reach. */
  readonly earPort: number;
}

export type AttackStep =
  | { readonly send: string | Buffer }
  /** Until this has come. */
  | { readonly until: string }
  | { readonly pauseMs: number };

export interface EgressAttack {
  readonly name: string;
  readonly mustNotHappen: string;
  /** The check that stops it. */
  readonly stoppedBy: string;
  /** Strings are bytes (latin1). What comes after the last step is read until the connection ends. */
  readonly steps: (scene: AttackScene) => readonly AttackStep[];
  /** What the record of the run says; null where the request is honest in the end, or only ends. */
  readonly refusal: EgressRefusalKind | null;
  /** It goes away after the last step. */
  readonly leaves?: boolean;
  /** How many connections do the same at once. */
  readonly connections?: number;
  /**
   * What the names in `names` lead to, for this attack; a list of lists is one answer after the other. Such an attack
   * needs a name server that lies, and can be played only where the test stands in for it.
   */
  readonly names?: Readonly<Record<string, readonly string[] | readonly (readonly string[])[]>>;
}

/** Bytes that must never reach a server outside, in any line or header. */
export const smuggledMark = 'smuggled';

export const get = (url: string, host: string, rest = ''): string =>
  `GET ${url} HTTP/1.1\r\nHost: ${host}\r\n${rest}\r\n`;

export const connect = (authority: string, rest = ''): string =>
  `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${rest}\r\n`;

/** Opens a tunnel, and sends bytes into it. */
export const tunnel = (authority: string, ...bytes: readonly Buffer[]): AttackStep[] => [
  { send: connect(authority) },
  { until: '\r\n\r\n' },
  ...bytes.map((send) => ({ send })),
];

/**
 * The same as a program for a sandbox: it speaks to the proxy that `http_proxy` names, in Python without any package,
 * and prints what was answered, as it came. The servers outside are the judge, not the program.
 */
export function toPython(
  { steps, leaves = false, connections = 1 }: EgressAttack,
  scene: AttackScene,
): string {
  const lines = steps(scene).map((step) => {
    if ('send' in step) {
      const bytes = typeof step.send === 'string' ? Buffer.from(step.send, 'latin1') : step.send;
      return `send(base64.b64decode('${bytes.toString('base64')}'))`;
    }
    if ('until' in step) return `until(base64.b64decode('${Buffer.from(step.until).toString('base64')}'))`;
    return `time.sleep(${step.pauseMs / 1000})`;
  });
  return `import base64, os, socket, sys, time, urllib.parse
proxy = urllib.parse.urlsplit(os.environ['http_proxy'])
sockets = []
seen = b''
for _ in range(${connections}):
    try: sockets.append(socket.create_connection((proxy.hostname, proxy.port), 5))
    except OSError: break
def send(data):
    for one in sockets:
        try: one.sendall(data)
        except OSError: pass
def read(one):
    global seen
    try: data = one.recv(65536)
    except OSError: data = b''
    seen += data
    return data
def until(mark):
    for one in sockets:
        while mark not in seen and read(one): pass
${lines.join('\n')}
for one in sockets${leaves ? '[:0]' : ''}:
    one.settimeout(2)
    while len(seen) < 1000000 and read(one): pass
sys.stdout.buffer.write(seen)
print('\\nTRIED', flush=True)
`;
}
