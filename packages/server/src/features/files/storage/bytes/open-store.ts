import { join } from 'node:path'
import type { Clock } from '../../../../lib/clock.ts'
import type { StorageConfig } from '../config.ts'
import { diskStore } from './disk.ts'
import { s3Store } from './s3/store.ts'
import type { ByteStore } from './store.ts'

/** Opens the byte store that the configuration names. */
export function openByteStore(
  { storage, server }: { readonly storage: StorageConfig; readonly server: { readonly data_dir: string } },
  clock: Clock,
): ByteStore {
  if (storage.backend === 'local') {
    return diskStore(storage.local_path || join(server.data_dir, 'storage'))
  }
  const bucket = {
    endpoint: endpointOf(storage),
    name: storage.s3_bucket,
    region: storage.s3_region,
    accessKey: storage.s3_access_key,
    secretKey: storage.s3_secret_key,
  }
  return s3Store(bucket, clock, storage.max_file_size)
}

function endpointOf({
  s3_endpoint: endpoint,
  s3_region: region,
  s3_use_ssl: usesTls,
}: StorageConfig): string {
  if (endpoint === '') return `https://s3.${region}.amazonaws.com`
  if (/^https?:/.test(endpoint)) return endpoint
  return `${usesTls ? 'https' : 'http'}://${endpoint}`
}
