import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { Agent } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { findServers } from '../src/cli/server-note.ts'
import { resolveLogging } from '../src/log.ts'
import { sendRequest } from './send-request.ts'
import { createDirectory, endOf, spawnServer } from './server-process.ts'
import { waitFor } from './wait-for.ts'

const log = new URL('../src/log.ts', import.meta.url).href

/** Runs statements that use `log` and returns their output. */
function run(statements: string, config = { level: 'info', format: 'auto', requests: 'failed' }): string {
  const script = `
    import { createLogger } from ${JSON.stringify(log)}
    const log = await createLogger(${JSON.stringify(config)}, false, (problem) => process.stderr.write(problem))
    ${statements}`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
    stdio: 'pipe',
  })
}

test('log › a line is JSON with the name of the level and the time in UTC', () => {
  expect(JSON.parse(run("log.warn({ port: 1 }, 'so it is')"))).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    port: 1,
    msg: 'so it is',
  })
})

test('log › contains no secrets, whatever carries them', () => {
  const output = run(`
    const secrets = { password: 's3cret', token: 's3cret', refreshToken: 's3cret', secret: 's3cret', code: 's3cret', authorization: 's3cret' }
    log.info(secrets, 'by name')
    log.info({ request: secrets }, 'inside')`)
  expect(output).not.toContain('s3cret')
  expect(output.match(/\[redacted\]/g)).toHaveLength(12)
})

test('log › keeps the members of an error that identify its kind', () => {
  const output = run(`
    log.error({ err: Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' }) }, 'failed')
    log.error({ err: new Error('plain') }, 'failed')`)
  const [coded, plain] = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).err)
  expect(coded).toMatchObject({
    type: 'Error',
    message: 'refused',
    errorCode: 'ECONNREFUSED',
    syscall: 'connect',
  })
  expect(plain).toEqual({ type: 'Error', message: 'plain', stack: expect.stringContaining('Error: plain') })
})

test('log › leaves out levels below the configured one and is readable without JSON on a terminal', () => {
  const config = { level: 'warn', format: 'pretty', requests: 'failed' }
  const output = run("log.info('hidden'); log.warn('shown')", config)
  expect(output).toMatch(/WARN.*shown\n$/)
  expect(output).not.toContain('hidden')
})

test('log › auto means readable lines with every request on a terminal, and otherwise JSON with failed requests', () => {
  const auto = { level: 'info', format: 'auto', requests: 'auto' } as const
  expect(resolveLogging(auto, true)).toEqual({ level: 'info', format: 'pretty', requests: 'all' })
  expect(resolveLogging(auto, false)).toEqual({ level: 'info', format: 'json', requests: 'failed' })
  expect(resolveLogging({ ...auto, format: 'json', requests: 'none' }, true)).toEqual({
    level: 'info',
    format: 'json',
    requests: 'none',
  })
})

test.each(['json', 'pretty'])(
  'log › %s lines wait while the disk is full, and lost lines are counted',
  (format) => {
    const output = run(
      `
    const { default: fs } = await import('node:fs')
    const write = fs.writeSync
    fs.writeSync = () => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    }
    for (let count = 0; count < 5000; count += 1) log.info({ text: 'x'.repeat(1000) }, 'large')
    fs.writeSync = write
    log.info('after it')`,
      { level: 'info', format, requests: 'failed' },
    )
    const [, lost = ''] = /lines"?: ?(\d+)/.exec(output) ?? []
    expect(Number(lost)).toBeGreaterThan(100)
    expect(output.match(/large/g)?.length).toBe(5000 - Number(lost))
    expect(output).toContain('after it')
  },
)

/** Starts a server that logs every request to the given output, and waits until it listens. */
async function startLogging(stdout?: number) {
  const data = createDirectory()
  const config = { 'server.data_dir': data.path, 'logging.requests': 'all' }
  const child = spawnServer({ config, ...(stdout === undefined ? {} : { stdout }) })
  const ended = endOf(child)
  let problems = ''
  child.stderr?.on('data', (chunk) => (problems += chunk))
  return {
    url: await waitFor('the server to listen', () => findServers(data.path)[0]?.url),
    stdout: child.stdout,
    problems: () => problems,
    async stop() {
      child.kill('SIGTERM')
      return await ended
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await data[Symbol.asyncDispose]()
    },
  }
}

// Only Linux has the device.
test.runIf(existsSync('/dev/full'))(
  'log › a server that cannot write its log reports that once, serves and stops',
  async () => {
    const full = openSync('/dev/full', 'w')
    await using server = await startLogging(full)
    closeSync(full)
    expect(await sendRequest('GET', `${server.url}/api/nothing`)).toMatchObject({ status: 404 })
    expect(await server.stop()).toEqual({ code: 0, signal: null })
    expect(server.problems()).toBe(
      'basalt: cannot write the log to standard output: ENOSPC: no space left on device, write\n',
    )
  },
)

test('log › a stalled reader delays nothing and misses no line when it resumes', async () => {
  await using server = await startLogging()
  const agent = new Agent({ keepAlive: true })
  const requests = 3000
  for (let count = 0; count < requests; count += 1) {
    const { status } = await sendRequest('GET', `${server.url}/api/nothing/${count}`, { agent })
    expect(status).toBe(404)
  }
  agent.destroy()
  let output = ''
  server.stdout?.on('data', (chunk) => (output += chunk))
  await waitFor('the last request', () => output.includes(`/api/nothing/${requests - 1}"`))
  expect(await server.stop()).toEqual({ code: 0, signal: null })
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const logged = lines.flatMap(({ path = '' }) => /^\/api\/nothing\/(\d+)$/.exec(path)?.slice(1) ?? [])
  expect(logged).toEqual(Array.from({ length: requests }, (_, count) => String(count)))
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped' })
  expect(server.problems()).toBe('')
})

test('log › a server whose log has no reader any more serves and stops', async () => {
  await using server = await startLogging()
  server.stdout?.destroy()
  for (let count = 0; count < 10; count += 1)
    expect(await sendRequest('GET', `${server.url}/api/nothing`)).toMatchObject({ status: 404 })
  expect(await server.stop()).toEqual({ code: 0, signal: null })
  expect(server.problems()).toBe('')
})
