import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadConfig } from '../../server/settings.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import type { StorageOptions } from '../../ports/storage/open.ts';
import { toStorageOptions } from '../../core/store-options.ts';
import { toSourceOptions } from './source-options.ts';

type Settings = Readonly<Record<string, string>>;

const optionsOf = (flags: Settings, environment: Settings = {}): StorageOptions =>
  toStorageOptions(loadConfig(flags, { HOME: '/home/me', ...environment }).config);

const s3Flags = { storage: 's3', 's3-bucket': 'b' };
const s3Keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
const azureFlags = { storage: 'azure', 'azure-container': 'c' };
const azureKeys = { AZURE_STORAGE_ACCOUNT: 'acc', AZURE_STORAGE_KEY: 'a2V5' };

type Of<K extends StorageOptions['kind']> = Extract<StorageOptions, { kind: K }>;
const s3 = (flags: Settings = {}): Of<'s3'> => optionsOf({ ...s3Flags, ...flags }, s3Keys) as Of<'s3'>;
const azure = (flags: Settings = {}, environment: Settings = azureKeys): Of<'azure'> =>
  optionsOf({ ...azureFlags, ...flags }, environment) as Of<'azure'>;

/** The message of the refusal; anything else is a failure of the test. */
function refusal(flags: Settings, environment: Settings): string {
  try {
    optionsOf(flags, environment);
  } catch (error) {
    assert.ok(isWorkcrateError(error, 'config_invalid'), String(error));
    return error.message;
  }
  assert.fail('it should have been refused');
}

const without = (settings: Settings, name: string): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([key]) => key !== name));

it('each setting that a store needs and that is not given is named, and no secret is', () => {
  const needs: [Settings, Settings, storage: string][] = [
    [s3Flags, s3Keys, 's3'],
    [azureFlags, azureKeys, 'azure'],
  ];
  for (const [flags, environment, storage] of needs) {
    for (const flag of Object.keys(flags).filter((name) => name !== 'storage'))
      assert.equal(refusal(without(flags, flag), environment), `--storage ${storage} needs --${flag}.`);
    for (const name of Object.keys(environment))
      assert.ok(refusal(flags, without(environment, name)).startsWith(`--storage ${storage} needs ${name}`));
  }
});

it('a setting that is empty is as good as none', () => {
  assert.match(refusal(s3Flags, { ...s3Keys, AWS_SECRET_ACCESS_KEY: '' }), /needs AWS_SECRET_ACCESS_KEY/);
  assert.match(refusal({ ...s3Flags, 's3-bucket': '' }, s3Keys), /needs --s3-bucket/);
  assert.match(refusal(azureFlags, { ...azureKeys, AZURE_STORAGE_ACCOUNT: '' }), /AZURE_STORAGE_ACCOUNT/);
});

it('what one store needs is not asked for by another', () => {
  assert.deepEqual(optionsOf({ data: '/d' }), { kind: 'disk', directory: '/d/files' });
  assert.deepEqual(optionsOf({ 'files-dir': '/f', 'part-size': '1' }), { kind: 'disk', directory: '/f' });
  assert.deepEqual(optionsOf({ storage: 'memory' }), { kind: 'memory' });
});

it('settings of S3 come through as they are', () => {
  assert.deepEqual(optionsOf(s3Flags, { ...s3Keys, AWS_SESSION_TOKEN: 'token', AWS_REGION: 'eu-west-1' }), {
    kind: 's3',
    bucket: 'b',
    prefix: '',
    endpoint: null,
    region: 'eu-west-1',
    pathStyle: false,
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: 'token',
    partBytes: 8 * 1024 ** 2,
  });
});

it('the bucket stands in the path where the store has an address of its own, unless it is said otherwise', () => {
  const endpoint = { 's3-endpoint': 'http://127.0.0.1:9000/' };
  assert.equal(s3().pathStyle, false);
  assert.equal(s3(endpoint).pathStyle, true);
  assert.equal(s3(endpoint).endpoint, 'http://127.0.0.1:9000');
  assert.equal(s3({ ...endpoint, 's3-path-style': 'off' }).pathStyle, false);
  assert.equal(s3({ 's3-path-style': 'on' }).pathStyle, true);
});

it('a prefix ends in one slash and begins with none, however it is written', () => {
  const forms: [given: string, prefix: string][] = [
    ['', ''],
    ['/', ''],
    ['//', ''],
    ['a', 'a/'],
    ['a/', 'a/'],
    ['/a', 'a/'],
    ['//a/b//', 'a/b/'],
    ['an äccount', 'an äccount/'],
  ];
  assert.deepEqual([s3().prefix, azure().prefix], ['', '']);
  for (const [given, prefix] of forms) {
    assert.equal(s3({ 's3-prefix': given }).prefix, prefix, JSON.stringify(given));
    assert.equal(azure({ 'azure-prefix': given }).prefix, prefix, JSON.stringify(given));
  }
});

it('a part is of 5 MB to 1 GB', () => {
  const [least, most] = [5 * 1024 ** 2, 1024 ** 3];
  for (const size of [least, most]) {
    assert.equal(s3({ 'part-size': `${size}` }).partBytes, size);
    assert.equal(azure({ 'part-size': `${size}` }).partBytes, size);
  }
  for (const size of [0, least - 1, most + 1])
    for (const [flags, environment] of [[s3Flags, s3Keys] as const, [azureFlags, azureKeys] as const])
      assert.match(
        refusal({ ...flags, 'part-size': `${size}` }, environment),
        /--part-size must be from 5MB/,
      );
});

it('the address of an account is that of the cloud, unless it is said otherwise', () => {
  assert.deepEqual(azure(), {
    kind: 'azure',
    container: 'c',
    prefix: '',
    endpoint: 'https://acc.blob.core.windows.net',
    account: 'acc',
    credential: { key: 'a2V5' },
    partBytes: 8 * 1024 ** 2,
  });
  assert.equal(
    azure({ 'azure-endpoint': 'http://127.0.0.1:10000/acc/' }).endpoint,
    'http://127.0.0.1:10000/acc',
  );
});

const connection = (parts: string): Settings => ({ AZURE_STORAGE_CONNECTION_STRING: parts });

it('a connection string gives account, key and address, with every = of the key', () => {
  const whole = 'DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5MTIzNA==;';
  const { account, credential, endpoint } = azure({}, connection(whole));
  assert.deepEqual([account, credential], ['acc', { key: 'a2V5MTIzNA==' }]);
  assert.equal(endpoint, 'https://acc.blob.core.windows.net');
  const china = azure({}, connection(`${whole}EndpointSuffix=core.chinacloudapi.cn`));
  assert.equal(china.endpoint, 'https://acc.blob.core.chinacloudapi.cn');
  const local = azure(
    {},
    connection(`${whole} BlobEndpoint = http://127.0.0.1:10000/acc/ ;EndpointSuffix=x`),
  );
  assert.equal(local.endpoint, 'http://127.0.0.1:10000/acc');
});

it('a shared access signature does where there is no key', () => {
  const sas = 'sv=2023-11-03&sig=abc%3D&se=2030-01-01';
  const named = { AZURE_STORAGE_ACCOUNT: 'acc', AZURE_STORAGE_SAS_TOKEN: `?${sas}` };
  assert.deepEqual(azure({}, named).credential, { sas: `?${sas}` });
  const within = connection(`AccountName=acc;SharedAccessSignature=${sas}`);
  assert.deepEqual(azure({}, within).credential, { sas });
  assert.deepEqual(azure({}, { ...azureKeys, AZURE_STORAGE_SAS_TOKEN: sas }).credential, { key: 'a2V5' });
});

it('a connection string of an address and a shared access signature needs no account', () => {
  const at = (address: string): Of<'azure'> =>
    azure({}, connection(`BlobEndpoint=${address};SharedAccessSignature=sv=1&sig=abc%3D`));
  const cloud = at('https://acc.blob.core.windows.net/');
  assert.deepEqual(
    [cloud.account, cloud.endpoint, cloud.credential],
    ['acc', 'https://acc.blob.core.windows.net', { sas: 'sv=1&sig=abc%3D' }],
  );
  assert.equal(at('https://acc.z12.blob.storage.azure.net').account, 'acc');
  assert.equal(at('https://files.example.com').account, 'files.example.com');
});

it('a key needs an account, which the address of the cloud tells as well', () => {
  const at = (address: string): Settings => connection(`BlobEndpoint=${address};AccountKey=a2V5`);
  assert.equal(azure({}, at('https://acc.blob.core.windows.net')).account, 'acc');
  assert.match(refusal(azureFlags, at('https://files.example.com')), /needs AZURE_STORAGE_ACCOUNT/);
  assert.match(refusal(azureFlags, connection('AccountName=;AccountKey=a2V5')), /AZURE_STORAGE_ACCOUNT/);
});

it('every way to give a credential is named where there is none', () => {
  const told = refusal(azureFlags, { AZURE_STORAGE_ACCOUNT: 'acc' });
  for (const name of ['KEY', 'SAS_TOKEN', 'CONNECTION_STRING'])
    assert.ok(told.includes(`AZURE_STORAGE_${name}`), told);
});

it('a connection string that means an emulator without its address is refused, and says what to give', () => {
  const emulator = connection('UseDevelopmentStorage=true');
  assert.match(refusal(azureFlags, emulator), /--azure-endpoint.*AZURE_STORAGE_KEY/);
  const address = { 'azure-endpoint': 'http://127.0.0.1:10000/acc' };
  assert.equal(azure(address, { ...emulator, ...azureKeys }).endpoint, 'http://127.0.0.1:10000/acc');
});

it('a setting of its own wins over the connection string', () => {
  const { account, credential, endpoint } = azure(
    { 'azure-account': 'mine', 'azure-endpoint': 'http://here' },
    { ...connection('AccountName=acc;AccountKey=b2xk;BlobEndpoint=http://there'), AZURE_STORAGE_KEY: 'bmV3' },
  );
  assert.deepEqual([account, credential, endpoint], ['mine', { key: 'bmV3' }, 'http://here']);
});

it('what a connection string leaves out is named, and what it holds is not told', () => {
  const lacking: [parts: string, needed: RegExp][] = [
    ['AccountKey=a2V5c2VjcmV0', /needs AZURE_STORAGE_ACCOUNT/],
    ['AccountName=acc;AccountKey', /needs AZURE_STORAGE_KEY/],
    ['nonsense a2V5c2VjcmV0', /needs AZURE_STORAGE_ACCOUNT/],
  ];
  for (const [parts, needed] of lacking) {
    const told = refusal(azureFlags, connection(parts));
    assert.match(told, needed);
    assert.ok(!told.includes('a2V5c2VjcmV0'));
  }
});

const sourceOf = (url: string, flags: Settings = {}, environment: Settings = {}) =>
  toSourceOptions(loadConfig(flags, { HOME: '/home/me', ...environment }).config, url);

it('a crate source is a folder, or stands in a store that is reached as the storage is', () => {
  assert.deepEqual(sourceOf('file:///data/crates'), { kind: 'folder', directory: '/data/crates' });
  assert.deepEqual(sourceOf('/data/crates'), { kind: 'folder', directory: '/data/crates' });
  const flags = { 's3-bucket': 'files', 's3-prefix': 'p', 's3-endpoint': 'http://127.0.0.1:9000' };
  const { endpoint, pathStyle, ...bucket } = sourceOf('s3://crates/of/mine', flags, s3Keys) as Of<'s3'>;
  assert.deepEqual([bucket.bucket, bucket.prefix], ['crates', 'of/mine/']);
  assert.deepEqual([endpoint, pathStyle, bucket.secretAccessKey], ['http://127.0.0.1:9000', true, 'secret']);
  const container = sourceOf('azure://box', { 'azure-container': 'c' }, azureKeys) as Of<'azure'>;
  assert.deepEqual([container.container, container.prefix, container.account], ['box', '', 'acc']);
});

it('what a crate source needs and was not given is named', () => {
  const needs = (url: string, environment: Settings, setting: RegExp): void =>
    assert.throws(() => sourceOf(url, {}, environment), { code: 'config_invalid', message: setting });
  needs('s3://crates', without(s3Keys, 'AWS_SECRET_ACCESS_KEY'), /^A crate source s3:.* needs AWS_SECRET_/);
  needs('azure://box', without(azureKeys, 'AZURE_STORAGE_ACCOUNT'), /^A crate source azure:.* needs AZURE_/);
  needs('ftp://crates', {}, /is not valid.*s3:\/\/bucket\/prefix/);
});
