import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../platform/errors.ts';
import { recordProof } from '../../test/requirements/requirements.testing.ts';
import { toFlagOptions, printConfig, formatSettingsHelp } from '../platform/config/config.ts';
import { joinByPlace, toEnvironmentName, toFileKey, toFlagName } from '../platform/config/setting.ts';
import { scratchFile, settingText } from '../platform/config/settings.testing.ts';
import { loadConfig, allSettings, type SettingName } from './settings.ts';

const names = Object.keys(allSettings) as SettingName[];
const secrets = names.filter((name) => allSettings[name]!.secret);
const home = { HOME: '/home/me' };

/** Null where it loads, else the message of the refusal; any other error is a failure of the test. */
function refusal(load: () => unknown): string | null {
  try {
    load();
    return null;
  } catch (error) {
    assert.ok(isWorkcrateError(error, 'config_invalid'), String(error));
    return error.message;
  }
}

it('defaults are loopback, port 9180, and a data folder where XDG says', () => {
  const { config } = loadConfig({}, home);
  assert.deepEqual(
    [config.host, config.port, config.publicUrl, config.filesDir],
    ['127.0.0.1', 9180, null, null],
  );
  assert.equal(config.data, '/home/me/.local/share/workcrate');
  assert.equal(loadConfig({}, { ...home, XDG_DATA_HOME: '/xdg' }).config.data, '/xdg/workcrate');
  recordProof('C8:defaults');
});

it('a file lives 3600 s and a sweep comes every 300 s unless told', () => {
  const { config } = loadConfig({}, home);
  assert.deepEqual([config.fileTtl, config.sweepInterval], [3600, 300]);
  assert.equal(loadConfig({}, { ...home, MCP_FILE_TTL: '60' }).config.fileTtl, 60);
  recordProof('C5:default-and-environment-name-of-the-ttl', 'C5:sweep-every-300-s');
});

it('a crate of at most 50 MB is given as base64 unless told by either name', () => {
  assert.equal(loadConfig({}, home).config.crateDownloadLimitMb, 50);
  for (const name of ['ROC_MCP_DOWNLOAD_SIZE_LIMIT_MB', 'WORKCRATE_CRATE_DOWNLOAD_LIMIT_MB'])
    assert.equal(loadConfig({}, { ...home, [name]: '7' }).config.crateDownloadLimitMb, 7, name);
  recordProof('B8:default-of-50', 'B8:environment-name');
});

it('an artifact of at most 50 MB is given as base64 unless told by either name', () => {
  assert.equal(loadConfig({}, home).config.artifactSizeLimitMb, 50);
  for (const name of ['MCP_ARTIFACT_SIZE_LIMIT_MB', 'WORKCRATE_ARTIFACT_SIZE_LIMIT_MB'])
    assert.equal(loadConfig({}, { ...home, [name]: '7' }).config.artifactSizeLimitMb, 7, name);
  recordProof('A7:default-and-environment-name');
});

it('a run has 30 s unless it asks for more, and at most 300 s unless told', () => {
  const { config } = loadConfig({}, home);
  assert.deepEqual([config.runTimeout, config.runMaxTimeout], [30, 300]);
  assert.equal(loadConfig({ 'run-max-timeout': '600' }, home).config.runMaxTimeout, 600);
  recordProof('D4:default-and-most-time');
});

it('search by meaning is fitted to the corpus unless told', () => {
  assert.equal(loadConfig({}, home).config.semantics, 'hash');
  for (const semantics of ['hash', 'endpoint'])
    assert.equal(loadConfig({ semantics }, home).config.semantics, semantics);
  recordProof('B4:hash-is-the-default');
});

it('sources of crates are URLs with commas between them, in the environment or in the config file', () => {
  const urls = ['file:///crates', 's3://bucket/prefix', 'azure://container/prefix'];
  const given = { ...home, WORKCRATE_CRATE_SOURCES: urls.join(',') };
  assert.deepEqual(loadConfig({}, given).config.crateSources, urls);
  using file = scratchFile();
  file.write(`crate_sources: ${JSON.stringify(urls)}\n`);
  assert.deepEqual(loadConfig({ config: file.path }, home).config.crateSources, urls);
  recordProof('B1:sources-setting');
});

it('any text for any setting, given anyhow, either loads or is refused by the name it was given under', () => {
  using file = scratchFile();
  const property = fc.property(fc.constantFrom(...names), settingText, (name, text) => {
    const byFlag = refusal(() => loadConfig({ [toFlagName(name)]: text }, home));
    const byVariable = refusal(() => loadConfig({}, { ...home, [toEnvironmentName(name)]: text }));
    file.write(`# first line\n${toFileKey(name)}: ${JSON.stringify(text)}\n`);
    const byFile = refusal(() => loadConfig({ config: file.path }, home));
    if (byFlag === null) return assert.deepEqual([byVariable, byFile], [null, null]);
    assert.ok(byFlag.startsWith(`--${toFlagName(name)} takes `), byFlag);
    if (text !== '')
      assert.ok(byVariable?.startsWith(`${toEnvironmentName(name)} takes `), String(byVariable));
    assert.ok(byFile?.startsWith(`${file.path}, line 2: ${toFileKey(name)} takes `), String(byFile));
    for (const message of [byFlag, byFile]) assert.doesNotMatch(String(message), /\n/);
  });
  fc.assert(property, { numRuns: 800 });
});

it('what --print-config shows is a config file that gives the same config again, but for secrets', () => {
  using file = scratchFile();
  const texts = fc.record(Object.fromEntries(names.map((name) => [toFlagName(name), settingText])), {
    requiredKeys: [],
  });
  const property = fc.property(texts, (given) => {
    const accepted = Object.entries(given).filter(
      ([flag, text]) => refusal(() => loadConfig({ [flag]: text! }, home)) === null,
    );
    const first = loadConfig(Object.fromEntries(accepted), home);
    file.write(printConfig(allSettings, first));
    const second = loadConfig({ config: file.path }, home);
    const hidden = Object.fromEntries(secrets.map((name) => [name, null]));
    assert.deepEqual(second.config, { ...first.config, ...hidden });
  });
  const spaceAtEnd = { data: '! /', 'files-dir': 'f\u3000/.', 'share-roots': 'a /, b' };
  fc.assert(property, { numRuns: 50, examples: [[spaceAtEnd]] });
});

it('a refused secret is not repeated in the message', () => {
  assert.ok(
    ['database', 'webhookSecret', 's3SecretAccessKey'].every((name) => secrets.includes(name as SettingName)),
  );
  const message = refusal(() => loadConfig({ port: 'x' }, { ...home, WORKCRATE_WEBHOOK_SECRET: 'hush' }));
  assert.doesNotMatch(message!, /hush/);
  const url = 'http://me:hush@store/';
  for (const flag of ['s3-endpoint', 'oauth-issuer', 'public-url', 'webhook-url'])
    assert.doesNotMatch(
      refusal(() => printConfig(allSettings, loadConfig({ [flag]: url }, home))) ?? '',
      /hush/,
      flag,
    );
  assert.doesNotMatch(printConfig(allSettings, loadConfig({ 'webhook-url': url }, home)), /hush/);
});

it('relative folders are meant from where the program was started', () => {
  const { config } = loadConfig({ data: 'd', 'files-dir': 'f', 'share-roots': 'a, b' }, home);
  const here = process.cwd();
  assert.deepEqual(
    [config.data, config.filesDir, config.shareRoots],
    [`${here}/d`, `${here}/f`, [`${here}/a`, `${here}/b`]],
  );
});

it('every setting has a flag, a variable and a line of help', () => {
  assert.deepEqual(Object.keys(toFlagOptions(allSettings)), names.map(toFlagName));
  for (const name of names) {
    assert.ok(formatSettingsHelp(allSettings).includes(`--${toFlagName(name)} `), name);
    assert.ok(formatSettingsHelp(allSettings).includes(toEnvironmentName(name)), name);
  }
});

it('a setting stands behind the one that it names, with those that follow it in its list', () => {
  const make = (after?: string) => ({ ...allSettings['host']!, ...(after === undefined ? {} : { after }) });
  const joined = joinByPlace([
    { a: make(), b: make(), c: make() },
    { d: make('a'), e: make() },
    { f: make('a'), g: make('b') },
    { h: make(), i: make('e'), j: make('none') },
  ]);
  assert.equal(Object.keys(joined).join(''), 'adeifbgchj');
  // One behind another that has no place itself, whichever comes first.
  assert.deepEqual(Object.keys(joinByPlace([{ a: make() }, { c: make('b') }, { b: make() }])), [
    'a',
    'b',
    'c',
  ]);
  assert.throws(() => joinByPlace([{ a: make() }, { a: make() }]), /Two are called a/);
});
