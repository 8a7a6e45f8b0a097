import { automatic, integer, text, webAddress } from '../../../config/keys.ts'

/** `storage`: files of users. What purges their copies is in `cdn`. */
export const storageKeys = {
  enabled: automatic(
    'Whether files are stored. auto: with the embedded database; the nodes of an external one have to share the directory.',
  ),
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
  cdn_url: webAddress(
    'Address of the content delivery network before the server, which public files are linked at. Empty: that of the server.',
  ),
}
