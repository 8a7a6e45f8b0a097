import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type ClientRequest, createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTerminal } from '../../test/terminal.ts'
import { waitFor } from '../../test/wait-for.ts'
import { main } from '../main.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'basalt-export-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true })
})

const token = { BASALT_ADMIN_TOKEN: 'basalt_token' }
const head = 'id,name\n'

/** Starts the command with a server whose responses the test writes. */
async function begin(args: readonly string[], env: Readonly<Record<string, string>> = token) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const listeners = new Map<string, () => void>()
  const terminal = {
    ...createTerminal(['export', 'song', ...args], { directory, env: { ...env, BASALT_URL: url } }),
    on: (signal: string, listener: () => void) => void listeners.set(signal, listener),
  }
  const request = once(server, 'request')
  const ended = main(terminal).then(() => ({ code: Number(terminal.exitCode ?? 0), ...terminal.output }))
  const [, response]: ServerResponse[] = await request
  if (response === undefined) throw new Error('no request')
  return {
    ended,
    listeners,
    terminal,
    response,
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await ended
    },
  }
}

test.each([
  ['true', 'the export is not complete: the table has more rows than api.export_max_rows'],
  [undefined, 'the server did not say whether the export is complete: a proxy may have dropped its trailers'],
])('basalt export › rejects rows with the trailer %s as incomplete', async (truncated, message) => {
  for (const output of [[], ['-o', 'cut.csv']]) {
    await using command = await begin(output)
    command.response.writeHead(200, { trailer: 'x-export-truncated' }).write(head)
    if (truncated !== undefined) command.response.addTrailers({ 'x-export-truncated': truncated })
    command.response.end()
    const stdout = output.length === 0 ? head : ''
    expect(await command.ended).toEqual({ code: 1, stdout, stderr: `basalt: ${message}\n` })
  }
  expect(readFileSync(join(directory, 'cut.csv'), 'utf8')).toBe(head)
})

test('basalt export › leaves no file when it is interrupted', async () => {
  await using command = await begin(['-o', 'cut.csv'])
  command.response.write(head)
  const file = join(directory, 'cut.csv')
  await waitFor('the file', async () => existsSync(file))
  command.listeners.get('SIGINT')?.()
  expect(await command.ended).toEqual({
    code: 1,
    stdout: '',
    stderr: 'basalt: interrupted; the export is not complete\n',
  })
  expect(existsSync(file)).toBe(false)
})

test('basalt export › ends on a signal while the session is being created', async () => {
  await using command = await begin([], { BASALT_ADMIN_PASSWORD: 'correct horse battery staple' })
  expect([...command.listeners.keys()]).toEqual([])
  command.response.writeHead(401).end('{"message":"no"}')
  expect(await command.ended).toEqual({ code: 1, stdout: '', stderr: 'basalt: no\n' })
})

describe('basalt export › ends when the server is silent for five minutes', () => {
  const channel = 'http.client.request.start'
  const requests: ClientRequest[] = []
  const note = (message: unknown) => requests.push((message as { request: ClientRequest }).request)
  beforeEach(() => subscribe(channel, note))
  afterEach(() => unsubscribe(channel, note))

  /** Simulates the timeout of the socket. */
  function expire() {
    const { socket } = requests.at(-1) ?? {}
    expect(socket?.timeout).toBe(300_000)
    socket?.emit('timeout')
  }

  test('before the head', async () => {
    await using command = await begin([])
    expire()
    expect(await command.ended).toEqual({
      code: 1,
      stdout: '',
      stderr: `basalt: ${command.url} cannot be reached: the server was silent for 300 s\n`,
    })
  })

  test('within the rows', async () => {
    await using command = await begin([])
    command.response.write(head)
    await waitFor('the rows', async () => command.terminal.output.stdout === head)
    expire()
    expect(await command.ended).toEqual({
      code: 1,
      stdout: head,
      stderr: 'basalt: the export is not complete: the server was silent for 300 s\n',
    })
  })

  test('but not when its reader pauses', async () => {
    await using command = await begin([])
    const { terminal, response } = command
    terminal.stdout.pause()
    const rows = 'x'.repeat(1_000_000)
    response.writeHead(200, { trailer: 'x-export-truncated' }).write(rows)
    await waitFor('a full pipe', async () => terminal.stdout.writableNeedDrain)
    expire()
    terminal.stdout.resume()
    response.addTrailers({ 'x-export-truncated': 'false' })
    response.end()
    expect(await command.ended).toEqual({ code: 0, stdout: rows, stderr: '' })
  })
})
