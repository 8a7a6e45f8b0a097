import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFunctionsFolder } from './functions-folder.ts'
import { createDirectory, startServer } from './server-process.ts'
import { waitFor } from './wait-for.ts'

/** Lists the processes of the functions in a folder, which is in their command line. */
function processesOf(path: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path)
    } catch {
      // The process has ended meanwhile.
      return false
    }
  })
}

test('functions › end with a killed server, even in an endless loop', async () => {
  await using directory = createDirectory(undefined, 'data')
  using folder = makeFunctionsFolder({
    // The definition as the package makes it, which has no build here.
    'loop.ts': `
      const handler = () => {
        console.log('loops')
        while (true) {}
      }
      const definition = { version: 1, kind: 'route', method: 'GET', path: '/loop', access: 'anonymous', handler }
      export default { [Symbol.for('basalt.function')]: definition }`,
  })
  await using server = await startServer({
    config: {
      'server.data_dir': join(directory.path, 'data'),
      'functions.folder': folder.path,
      // Without the server, nothing else ends the loop.
      'functions.timeout': '25',
    },
  })
  expect(processesOf(folder.path), server.output()).toHaveLength(1)
  const response = fetch(`${server.url}/api/functions/loop`).catch(() => undefined)
  await waitFor('the loop', () => server.output().includes('loops'))
  expect(await server.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
  await response
  await waitFor('the process of functions to end', () => processesOf(folder.path).length === 0)
})
