import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { isProcessAlive } from '../src/database/embedded/lock-file.ts'
import { waitFor } from './wait-for.ts'

const script = fileURLToPath(new URL('killed-run.ts', import.meta.url))

test('tests › a killed run leaves no Postgres, no server and no directory', async () => {
  const run = spawn(process.execPath, [script, inject('clusterTemplate')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: run.stdout })
  const [line] = await new Promise<[string]>((resolve) => lines.once('line', (text) => resolve([text])))
  const { pids, directories }: { pids: number[]; directories: string[] } = JSON.parse(line)
  expect(pids.map(isProcessAlive)).toEqual([true, true, true])
  expect(directories.map((path) => existsSync(path))).toEqual([true, true])

  run.kill('SIGKILL')

  await waitFor('the processes to end', () => !pids.some(isProcessAlive))
  await waitFor('the directories to be removed', () => !directories.some((path) => existsSync(path)))
})
