import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Artifacts } from '../core/artifacts/artifacts.ts';
import type { ClientFiles } from '../features/client-files/client-files.ts';
import type { Crates } from '../features/crates/crates.ts';
import type { DocumentBuilder } from '../features/documents/documents.ts';
import type { Executions } from '../core/runs/executions.ts';
import type { Files } from '../core/files/files.ts';
import type { Caller } from '../core/identity.ts';
import type { Links } from '../core/links/links.ts';
import type { Uploads } from '../core/links/uploads.ts';

/** The methods of a room whose first argument is not the caller. */
type WithoutCaller<Room> = {
  [Name in keyof Room & string]: Room[Name] extends (...args: infer Args) => unknown
    ? Args extends readonly [Caller, ...unknown[]]
      ? never
      : Name
    : never;
}[keyof Room & string];

/** Why a method needs no caller. */
type Reason =
  | 'the token is the right'
  | 'takes what was looked up for somebody before'
  | 'takes the name of the owner, or the caller after the transaction'
  | 'the context of the call, which it needs to ask the client, has the caller in it'
  | 'is for the server itself, and for nobody';

/** A method that is missing here, or does not belong here any more, does not compile. */
type Reasons<Room> = Readonly<Record<WithoutCaller<Room>, Reason>>;

const byToken = 'the token is the right';
const lookedUp = 'takes what was looked up for somebody before';
const byOwner = 'takes the name of the owner, or the caller after the transaction';
const byContext = 'the context of the call, which it needs to ask the client, has the caller in it';
const ofServer = 'is for the server itself, and for nobody';

const files: Reasons<Files> = {
  charge: byOwner,
  demandSpace: ofServer,
  demandWriter: ofServer,
  extend: byOwner,
  isStored: lookedUp,
  open: lookedUp,
  sweep: ofServer,
  sweepOrphans: ofServer,
  takeBack: lookedUp,
};
const links: Reasons<Links> = {
  deliver: lookedUp,
  delivered: lookedUp,
  flush: ofServer,
  lease: lookedUp,
  note: lookedUp,
  noteCorruption: lookedUp,
  reopen: lookedUp,
  resolve: byToken,
  sweep: ofServer,
  use: lookedUp,
};
const uploads: Reasons<Uploads> = {
  addToBatch: byToken,
  allArrived: byOwner,
  arrivedFor: byOwner,
  begin: byToken,
  claim: lookedUp,
  file: lookedUp,
  find: byToken,
  giveUp: lookedUp,
  listBatch: lookedUp,
  note: lookedUp,
  openFor: byOwner,
  readState: byToken,
  sweep: ofServer,
  withdraw: byToken,
  write: byToken,
};
const executions: Reasons<Executions> = {
  countCells: ofServer,
  lastEnded: ofServer,
  recover: ofServer,
  sweep: ofServer,
};
const crates: Reasons<Crates> = {
  forget: ofServer,
  isIndexed: ofServer,
  isOfSeveral: ofServer,
  packedBytes: byOwner,
  sync: ofServer,
  takeIn: ofServer,
};
const documents: Reasons<DocumentBuilder> = { occupancy: ofServer };
const bridge: Reasons<ClientFiles> = {
  demand: byContext,
  find: byContext,
  list: byContext,
  offer: byContext,
  page: byToken,
  policyFor: byContext,
  read: byContext,
  warnOfMissing: ofServer,
};

/** Compiles only for a room without such a method. */
type AllTakeCallers<Room> = WithoutCaller<Room> extends never ? true : false;
const artifacts: AllTakeCallers<Artifacts> = true;
const inside: AllTakeCallers<Crates['inside']> = true;

test('what a room does for a user takes the caller first, and nothing else is unnamed', () => {
  const rooms = { files, links, uploads, executions, crates, documents, bridge };
  assert.ok(artifacts && inside);
  for (const [room, reasons] of Object.entries(rooms))
    for (const [name, reason] of Object.entries(reasons)) {
      const expectsContext = room === 'bridge' || reason !== byContext;
      assert.ok(expectsContext, `only the bridge takes a whole context, not ${room}.${name}`);
    }
});

test('a method without a caller that was planted does not compile', () => {
  interface Planted extends DocumentBuilder {
    remove(id: string): void;
    rename(caller: Caller, id: string): void;
  }
  // @ts-expect-error -- `remove` has no reason; `rename` needs none
  const planted: Reasons<Planted> = { occupancy: ofServer };
  assert.ok(planted);
});
