import { automatic, choice, flag, integer, plain, secret, text, webAddress } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import type { Static, Type } from '../../../lib/type.ts'

/** `storage`: files of users. What purges their copies is in `cdn`. */
export const storageKeys = {
  enabled: automatic(
    'True if files are stored. auto: with the embedded database or in S3, unless database.branch is set. The nodes of an external database must share the directory.',
  ),
  backend: choice('local', ['local', 's3'], 'Store for the bytes of files: a directory or an S3 bucket.'),
  local_path: text(
    '',
    'Directory for the bytes of files, shared by all nodes. Empty: storage within server.data_dir.',
    { expects: 'a path' },
  ),
  max_file_size: integer(
    10_485_760,
    'Largest file, in bytes; a bucket may allow less.',
    1,
    1_099_511_627_776,
  ),
  default_quota_mb: integer(100, 'MiB that the files of one user may take; 0: no limit.', 0, 1_000_000_000),
  upload_timeout: integer(300, 'Seconds that an upload may take.', 1, 86_400),
  s3_endpoint: text('', 'Host and port of the service, or its URL. Empty: Amazon S3 in the region.', {
    pattern: '^((https?://)?[^\\s/@?#]+/?)?$',
    expects: 'a host, with a port if needed, or an http or https URL without a path',
  }),
  s3_bucket: text('', 'Bucket for the bytes of files; others may use it, too.', {
    pattern: '^([a-z0-9][a-z0-9._-]{1,62})?$',
    expects: 'the name of a bucket',
  }),
  s3_region: text('us-east-1', 'Region that requests are signed for.', {
    pattern: '^[a-z0-9-]{1,60}$',
    expects: 'the name of a region',
  }),
  s3_access_key: plain('Access key of S3.'),
  s3_secret_key: secret('Secret key of S3.'),
  s3_use_ssl: flag(true, 'True if a storage.s3_endpoint without a scheme is called with TLS.'),
  image_cache_mb: integer(
    1024,
    'MiB that resized images may take. The least recently requested images are removed first.',
    1,
    1_000_000_000,
  ),
  cdn_url: webAddress(
    'Address of the content delivery network before the server, which public files are linked at. Empty: that of the server.',
  ),
}

export type StorageConfig = Static<ReturnType<typeof Type.Object<typeof storageKeys>>>

/** Rules of `storage`. */
export const storageRules: readonly ConfigRule<Sections>[] = [s3NeedsItsKeys]

interface Sections {
  readonly storage: StorageConfig
}

function s3NeedsItsKeys({ storage }: Sections): RuleViolation[] {
  if (storage.backend !== 's3') return []
  return (['s3_bucket', 's3_access_key', 's3_secret_key'] as const)
    .filter((name) => storage[name].trim() === '')
    .map((name) => ({ key: `storage.${name}`, problem: 'required with storage.backend = "s3"' }))
}
