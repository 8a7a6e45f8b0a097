import { join } from 'node:path'
import type { Config } from '../../../../config/schema.ts'
import { diskStore } from './disk.ts'
import type { ByteStore } from './store.ts'

/** The place for bytes that the configuration names. */
export function openByteStore({ storage, server }: Pick<Config, 'storage' | 'server'>): ByteStore {
  return diskStore(storage.local_path || join(server.data_dir, 'storage'))
}
