import type { ClientCapabilities } from '@modelcontextprotocol/client';
import type { TransferMethod } from '../../../src/features/client-files/client-file.ts';
import type { Version } from '../../conformance/messages.testing.ts';

const sets = ['none', 'roots', 'form', 'url', 'sampling', 'all'] as const;

/** What a client has of the ways to be asked. */
type CapabilitySet = (typeof sets)[number];

export interface Cell {
  readonly transport: 'HTTP' | 'stdio';
  readonly version: Version;
  readonly set: CapabilitySet;
}

const revisions: readonly Version[] = ['2025-06-18', '2025-11-25', '2026-07-28'];

export const cells: readonly Cell[] = (['HTTP', 'stdio'] as const).flatMap((transport) =>
  revisions.flatMap((version) => sets.map((set) => ({ transport, version, set }))),
);

/** As a client of the revision declares it: the first one knew forms alone, and had no word for them. */
export function capabilitiesOf({ version, set }: Cell): ClientCapabilities {
  const first = version === '2025-06-18';
  const form = first ? {} : { form: {} };
  const url = first ? {} : { url: {} };
  switch (set) {
    case 'none':
      return {};
    case 'roots':
      return { roots: {} };
    case 'form':
      return { elicitation: form };
    case 'url':
      return first ? {} : { elicitation: url };
    case 'sampling':
      return { sampling: {} };
    case 'all':
      return { roots: {}, elicitation: { ...form, ...url }, sampling: { tools: {} } };
  }
}

/** What a call says so that the client is asked. Nobody is unless it does. */
export function viaOf(cell: Cell, isBinary = false): { via?: TransferMethod } {
  const rung = rungOf(cell, isBinary);
  return rung === 'direct' || rung === 'upload' ? {} : { via: rung };
}

/** The best way that the client offers. A form takes no bytes. */
export function rungOf({ transport, version, set }: Cell, isBinary = false): TransferMethod {
  const hasUrl = version !== '2025-06-18';
  switch (set) {
    case 'none':
      return 'upload';
    case 'roots':
      return transport === 'stdio' ? 'direct' : 'upload';
    case 'url':
      return hasUrl ? 'url' : 'upload';
    case 'all':
      if (transport === 'stdio') return 'direct';
      if (hasUrl) return 'url';
      return isBinary ? 'sampling' : 'form';
    case 'form':
      return isBinary ? 'upload' : 'form';
    case 'sampling':
      return 'sampling';
  }
}
