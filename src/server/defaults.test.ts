/** What a server has that was given no settings, by way of its own assembly: what the requirements promise in figures. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadConfig } from './settings.ts';
import { usualAliveMs } from '../surfaces/mcp/progress.ts';
import { createLog } from '../platform/observability/log.ts';
import { recordProof } from '../../test/requirements/requirements.testing.ts';
import { toSandboxOptions } from './execution.ts';
import { getOutputBounds } from './offer.ts';

const { config } = loadConfig({}, {});

it('a run has 30 s by default and 300 s at most, and 5 s between SIGTERM and SIGKILL', () => {
  assert.deepEqual([config.runTimeout, config.runMaxTimeout], [30, 300]);
  assert.equal(toSandboxOptions(config, createLog('off')).limits.graceMs, 5000);
  recordProof('D4:default-times');
});

it('code in Docker runs in the image mcp-code-executor:latest', () => {
  assert.equal(toSandboxOptions(config, createLog('off')).docker.image, 'mcp-code-executor:latest');
  recordProof('A11:image-default');
});

it('of an output of more than 10,000 characters the first and the last 4,000 are shown', () => {
  assert.deepEqual(getOutputBounds(config), { most: 10_000, head: 4000, tail: 4000 });
  recordProof('D7:default-bounds');
});

it('runs are kept for 30 days if they went well, and for 90 if they failed', () => {
  assert.deepEqual([config.keepSuccesses, config.keepFailures], [30, 90]);
  recordProof('D9:default-retention');
});

it('a call that is silent gives a sign of life every 10 s', () => {
  assert.equal(usualAliveMs, 10_000);
  recordProof('D10:default-sign-of-life');
});

it('a run is detached after 45 s, and waits 60 s for somebody after its connection was lost', () => {
  assert.deepEqual([config.detachAfter, config.orphanGrace], [45, 60]);
  recordProof('D17:default-times');
});
