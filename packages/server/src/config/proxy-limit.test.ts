import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from './load.ts'

test('deploy/nginx.conf › permits the largest body that each limit permits by default', () => {
  const { config } = loadConfig({ directory: '/', env: {}, flags: {} })
  const path = join(import.meta.dirname, '../../../../deploy/nginx.conf')
  const [, mebibytes] = /client_max_body_size (\d+)m;/.exec(readFileSync(path, 'utf8')) ?? []
  const { server, api, storage, sites } = config
  const largest = Math.max(
    server.body_limit,
    api.import_max_size_mb * 2 ** 20,
    storage.max_file_size,
    sites.max_file_size,
  )
  // A form around a file adds a little.
  expect(Number(mebibytes) * 2 ** 20).toBeGreaterThan(largest)
})
