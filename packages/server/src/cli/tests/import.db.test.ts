import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type OpenTransaction, openTransaction } from '../../../test/account-nodes.ts'
import { basaltHere, createTerminal } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { main } from '../../main.ts'

let app: TestApp
let directory: string

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table song (id int primary key, name text not null)' })
  directory = mkdtempSync(join(tmpdir(), 'basalt-import-'))
})
beforeEach(() => app.sql('truncate song'))
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await app[Symbol.asyncDispose]()
})

async function run(...args: string[]) {
  const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
  return await basaltHere(args, { directory, env })
}

function write(name: string, content: string): string {
  writeFileSync(join(directory, name), content)
  return name
}

const songs = () => app.sql('select id, name from song order by id')

describe('basalt import', () => {
  test.each([
    ['songs.csv', 'id,name\n1,"One, two"\n2,Two\n', []],
    ['songs.json', '[{"id": 1, "name": "One, two"}, {"id": 2, "name": "Two"}]', []],
    ['songs.jsonl', '{"id": 1, "name": "One, two"}\n{"id": 2, "name": "Two"}\n', []],
    ['songs.txt', 'id,name\n1,"One, two"\n2,Two\n', ['--format', 'csv']],
  ])('accepts %s', async (name, content, flags) => {
    const result = await run('import', 'song', write(name, content), ...flags)
    expect(result).toEqual({ code: 0, stdout: '2 inserted, 0 updated, 0 skipped, 0 refused\n', stderr: '' })
    expect(await songs()).toEqual([
      { id: 1, name: 'One, two' },
      { id: 2, name: 'Two' },
    ])
  })

  test('accepts a named pipe, and rejects an unreadable file', async () => {
    const pipe = join(directory, 'pipe.csv')
    execFileSync('mkfifo', [pipe])
    // The pipe needs a process of its own: opening it waits for the reader, which may fail before.
    const writer = spawn('sh', ['-c', 'printf "id,name\\n1,One\\n" > "$0"', pipe], { stdio: 'ignore' })
    try {
      expect(await run('import', 'song', 'pipe.csv')).toMatchObject({ code: 0, stderr: '' })
    } finally {
      writer.kill()
    }
    expect(await songs()).toEqual([{ id: 1, name: 'One' }])
    expect(await run('import', 'song', '.', '--format', 'csv')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^basalt: \. cannot be read: EISDIR/),
    })
    expect(await run('import', 'song', 'missing.csv')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^basalt: missing\.csv cannot be read: ENOENT/),
    })
  })

  test('imports nothing when a row is rejected, and names the row', async () => {
    const result = await run('import', 'song', write('a.csv', 'id,name\n1,One\n2,\n'))
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^row 2: .*name.*\nbasalt: 1 row was refused and nothing was imported\n$/,
      ),
    })
    expect(await songs()).toEqual([])
  })

  test('is partial, a dry run, or updates existing rows, as the flags say', async () => {
    const file = write('b.csv', 'id,name\n1,One\n2,\n')
    const trial = await run('import', 'song', file, '--partial', '--dry-run')
    expect([trial.code, trial.stdout]).toEqual([
      1,
      '1 inserted, 0 updated, 0 skipped, 1 refused; nothing was changed\n',
    ])
    expect(await songs()).toEqual([])
    const partial = await run('import', 'song', file, '--partial')
    expect([partial.code, partial.stderr]).toEqual([
      1,
      expect.stringContaining('basalt: 1 row was refused\n'),
    ])
    expect(await songs()).toEqual([{ id: 1, name: 'One' }])
    const both = write('c.csv', 'id,name\n1,Uno\n3,Tres\n')
    expect((await run('import', 'song', both, '--skip-existing')).stdout).toBe(
      '1 inserted, 0 updated, 1 skipped, 0 refused\n',
    )
    const updated = JSON.parse((await run('import', 'song', both, '--upsert', '--json')).stdout)
    expect(updated).toMatchObject({ state: 'succeeded', rowsRead: 2, result: { inserted: 0, updated: 2 } })
    expect(await songs()).toEqual([
      { id: 1, name: 'Uno' },
      { id: 3, name: 'Tres' },
    ])
  })

  test.each([
    ['a name without a format', ['song', 'songs'], 2, 'songs: the name does not say which format it has; '],
    ['an unknown format', ['song', 'a.csv', '--format', 'xml'], 2, '--format: expected csv, json or ndjson'],
    [
      'two ways at once',
      ['song', 'a.csv', '--upsert', '--skip-existing'],
      2,
      '--upsert and --skip-existing exclude',
    ],
    ['a missing file', ['song', 'missing.csv'], 1, 'missing.csv cannot be read: '],
    ['an unknown table', ['nothing', 'a.csv'], 1, 'collection not found: nothing'],
  ])('rejects %s', async (_, args, code, message) => {
    write('a.csv', 'id,name\n')
    const result = await run('import', ...args)
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(`basalt: ${message}`)])
  })
})

describe('basalt import when it is interrupted before the response', () => {
  const file = 'id,name\n1,One\n'

  /** Starts the command, and returns when the server has the file and no id for it. */
  async function interrupt(imports: OpenTransaction) {
    await imports.sql('lock table basalt.imports in exclusive mode')
    const listeners = new Map<string, () => void>()
    const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
    const terminal = {
      ...createTerminal(['import', 'song', write('late.csv', file)], { directory, env }),
      on: (signal: string, listener: () => void) => void listeners.set(signal, listener),
    }
    const ended = main(terminal).then(() => [terminal.exitCode, terminal.output.stderr])
    await imports.waitForBlocked()
    listeners.get('SIGINT')?.()
    return { ended }
  }
  const states = () =>
    app.sql('select state from basalt.imports').then((all) => all.map(({ state }) => state))

  beforeEach(() => app.sql('delete from basalt.imports'))

  test.each([
    ['an answer that comes soon', true, 'interrupted; nothing was imported'],
    ['no answer', false, 'interrupted before the server answered; the import may have been accepted'],
  ])('cancels the import with %s', async (_what, isAnswered, message) => {
    // No row can be written meanwhile.
    await using rows = await openTransaction(app.database)
    await rows.sql('lock table song in exclusive mode')
    await using imports = await openTransaction(app.database)
    const { ended } = await interrupt(imports)
    if (isAnswered) await imports.commit()
    expect(await ended).toEqual([1, `basalt: ${message}\n`])
    if (!isAnswered) await imports.commit()
    await waitFor('the end of the import', async () => (await states()).join() === 'canceled')
    await rows.commit()
    expect(await songs()).toEqual([])
  })
})

describe('basalt export', () => {
  beforeEach(() => app.sql(`insert into song values (1, 'One, two'), (2, 'Two'), (3, 'Three')`))

  test('writes rows to standard output or to a new file, which import accepts', async () => {
    expect(await run('export', 'song', '--filter', 'id < 3', '--sort', '-id')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^id,name\r?\n2,Two\r?\n1,"One, two"\r?\n$/),
      stderr: '',
    })
    expect(
      (await run('export', 'song', '--format', 'ndjson', '-o', 'out.ndjson', '--fields', 'id,name')).code,
    ).toBe(0)
    const [first = ''] = readFileSync(join(directory, 'out.ndjson'), 'utf8').split('\n')
    expect(JSON.parse(first)).toEqual({ id: 1, name: 'One, two' })
    await app.sql('truncate song')
    expect((await run('import', 'song', 'out.ndjson')).stdout).toContain('3 inserted')
    const again = await run('export', 'song', '-o', 'out.ndjson')
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringMatching(/^basalt: cannot write .*out\.ndjson: EEXIST/),
    ])
  })

  test('fails for more rows than the server exports', async () => {
    await using other = await createTestApp({
      database: app.database,
      config: { 'api.export_max_rows': '2' },
    })
    expect(await run('export', 'song', '--url', other.url)).toEqual({
      code: 1,
      stdout: 'id,name\n1,"One, two"\n2,Two\n',
      stderr: 'basalt: the export is not complete: the table has more rows than api.export_max_rows\n',
    })
  })

  test('ends normally when its reader stops reading', async () => {
    const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
    const piped = createTerminal(['export', 'song'], { directory, env })
    piped.stdout.once('data', () =>
      piped.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    )
    await main(piped)
    expect([piped.exitCode ?? 0, piped.output.stderr]).toEqual([0, ''])
  })

  test.each([
    [['song', '--format', 'xml'], 2, '--format: expected csv, json or ndjson'],
    [['nothing'], 1, 'collection not found: nothing'],
    [['song', '--filter', 'nope = 1'], 1, 'invalid filter: unknown column: nope'],
  ])('rejects %j', async (args, code, message) => {
    const result = await run('export', ...args)
    expect(result).toEqual({ code, stdout: '', stderr: `basalt: ${message}\n` })
  })
})
