import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { resolveLogging } from '../src/log.ts'

const log = new URL('../src/log.ts', import.meta.url).href

/** What the statements, which may use `log`, write. */
function run(statements: string, config = { level: 'info', format: 'auto', requests: 'failed' }): string {
  const script = `
    import { createLogger } from ${JSON.stringify(log)}
    const log = await createLogger(${JSON.stringify(config)}, false)
    ${statements}`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
  })
}

test('a line is JSON with the level in words and the time in UTC', () => {
  expect(JSON.parse(run("log.warn({ port: 1 }, 'so it is')"))).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    port: 1,
    msg: 'so it is',
  })
})

test('secrets do not get into it, whatever carries them', () => {
  const output = run(`
    const secrets = { password: 's3cret', token: 's3cret', refreshToken: 's3cret', secret: 's3cret', code: 's3cret', authorization: 's3cret' }
    log.info(secrets, 'by name')
    log.info({ request: secrets }, 'inside')`)
  expect(output).not.toContain('s3cret')
  expect(output.match(/\[redacted\]/g)).toHaveLength(12)
})

test('an error keeps what tells its kind', () => {
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

test('levels below the configured one are left out, and people get lines without JSON', () => {
  const config = { level: 'warn', format: 'pretty', requests: 'failed' }
  const output = run("log.info('hidden'); log.warn('shown')", config)
  expect(output).toMatch(/WARN.*shown\n$/)
  expect(output).not.toContain('hidden')
})

test('auto means lines for people and every request on a terminal, elsewhere JSON and failed requests', () => {
  const auto = { level: 'info', format: 'auto', requests: 'auto' } as const
  expect(resolveLogging(auto, true)).toEqual({ level: 'info', format: 'pretty', requests: 'all' })
  expect(resolveLogging(auto, false)).toEqual({ level: 'info', format: 'json', requests: 'failed' })
  expect(resolveLogging({ ...auto, format: 'json', requests: 'none' }, true)).toEqual({
    level: 'info',
    format: 'json',
    requests: 'none',
  })
})
