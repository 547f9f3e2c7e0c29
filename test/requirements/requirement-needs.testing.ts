import type { Part, Row } from './requirements.testing.ts';

const science = 'numpy, pandas and matplotlib for /usr/bin/python3 (apt-get)';
const clients = 'the clients of test/clients, which npm installs on first use';
const pip = 'pip for /usr/bin/python3 (python3-pip)';
const npm = 'an npm that is a folder of its own';
const servers = 'the servers of test/behaviour/gateway, which npm installs on first use';
const browser = 'Chromium (apt-get install chromium)';
const docker = 'a Docker engine that the tests can start (docker.io, as root)';

/** What a part needs that a machine may lack. Where it is not proven for that, it is told, and counts as skipped. */
export const needs: Partial<Record<Part, string>> = {
  'A11:image-setting': docker,
  'B1:s3-source': 'an S3 store that the tests can start (ceph)',
  'C14:name-size-sha256-and-time': browser,
  'C14:preview-of-pictures-text-and-tables': browser,
  'C14:preview-of-pdf': browser,
  'C14:download-button': browser,
  'C14:an-ended-link-says-so-in-words': browser,
  'C14:upload-form-with-progress': browser,
  'C14:programs-get-bytes-as-before': browser,
  'C14:a-page-never-uses-a-link-up': browser,
  'C14:single-use-has-no-preview': browser,
  'C14:nothing-stored-runs-on-this-origin': browser,
  'D13:into-the-environment-of-the-user': pip,
  'D13:seen-by-runs-at-once': pip,
  'D13:seen-by-sessions-at-once': pip,
  'D13:node-packages': npm,
  'D13:registry-setting': pip,
  'D13:allow-list': pip,
  'D13:network-to-the-registry-alone': pip,
  'D13:a-failed-install-changes-nothing': pip,
  'D14:docker-by-name': docker,
  'D14:memory-limit-in-docker': docker,
  'D14:process-limit-in-docker': docker,
  'D14:cpu-limit-in-docker': docker,
  'D14:file-size-limit-in-docker': docker,
  'D14:disk-limit-in-docker': docker,
  'D14:network-limit-in-docker': docker,
  'D19:loaded-before-a-run-starts': science,
  'D19:described-with-the-tool': science,
  'D19:missing-module-says-what-to-do': science,
  'D19:told-to-the-operator': science,
  'D19:takes-nothing-of-a-run-s-memory': science,
  'F3:real-servers': servers,
  'F3:two-users-share-nothing': `${servers}, and /usr/bin/chromium`,
  'G1:sign-in-with-a-key': browser,
  'G1:sign-in-at-an-issuer': browser,
  'G1:usage': browser,
  'G1:files-with-previews': browser,
  'G1:links-with-revoke': browser,
  'G1:upload-of-several-files': browser,
  'G1:files-by-keyboard-and-without-javascript': browser,
  'G1:operator-day': browser,
  'G1:operator-health': browser,
  'G1:operators-only': browser,
  'G1:audit-verified': browser,
  'G2:within-the-default-policy': browser,
  'G2:light-by-the-host-without-barriers': browser,
  'G2:dark-by-the-host-without-barriers': browser,
  'G2:run-with-output-as-it-comes': browser,
  'G2:table-sorted-filtered-and-paged': browser,
  'G2:crate-with-its-files': browser,
  'G2:picked-files-past-the-model': browser,
  'G2:hostile-data-is-text': browser,
  'G2:silent-and-broken-hosts': browser,
  'G4:docker-image': docker,
  'G5:inspector': clients,
  'G5:sdk-v1': clients,
  'G5:claude-code': clients,
  'G5:codex': clients,
  'G5:gemini-cli': clients,
  'G5:opencode': clients,
};

/** Of rows that are built, what has not been asked for yet. */
export const partsNotYetAskedFor: Partial<Record<Row, readonly string[]>> = {};

/** The rows that have not been asked for yet. */
export const rowsNotYetAskedFor =
  'B15 B16 B17 B18 C15 C16 D22 D23 D24 H1 H2 H3 H4 H5 I1 I2 I3 I4 I5 I6 I7 I8 J1 J2 J3 J4 K1 K2 K3 K4 K5 K6'.split(
    ' ',
  );
