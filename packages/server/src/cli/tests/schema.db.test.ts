import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandResult } from '../../../test/command.ts'
import { library } from '../../../test/fixtures.ts'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let database: TestDatabase
let env: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(library)
  env = { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret }
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
})

function run(...args: string[]): Promise<CommandResult> {
  return basaltHere(args, { env })
}

/** Returns a result with one line on standard error and nothing else. */
function failed(code: 1 | 2, message: string): CommandResult {
  return { code, stdout: '', stderr: `basalt: ${message}\n` }
}

describe('basalt schema', () => {
  test('lists the collections', async () => {
    const { code, stdout, stderr } = await run('schema')
    expect([code, stderr]).toEqual([0, ''])
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(/^collection +kind +columns +rls +expand$/)
    expect(lines.find((line) => line.startsWith('book '))).toMatch(
      /^book +table +9 +no +author, editor, placement/,
    )
    expect(lines.find((line) => line.startsWith('author_count'))).toMatch(/ materialized view +1 +no$/)
    expect(stdout).toContain('Odd "table"')
    expect(stdout).not.toMatch(/archive|basalt|admin/)
  })

  test('prints the columns of one', async () => {
    const { stdout } = await run('schema', 'archive.report', '--database-schemas', 'archive')
    expect(stdout).toBe(
      [
        'column     type     null      key          default',
        '---------  -------  --------  -----------  -------',
        'id         integer  not null  primary key',
        'book_id    integer',
        'full text  text',
        '',
      ].join('\n'),
    )
    expect(await run('schema', 'nothing')).toEqual(failed(1, 'collection not found: nothing'))
  })

  test('prints with --json the document of the API, or a part of it', async () => {
    const document = JSON.parse((await run('schema', '--json')).stdout)
    expect(Object.keys(document.tables)).toContain('public.book')
    const book = JSON.parse((await run('schema', 'book', '--json')).stdout)
    expect(book).toEqual(document.tables['public.book'])
  })

  test('shows a database before its first start, as basalt types does', async () => {
    await using own = await createTestDatabase()
    await own.sql('drop schema basalt cascade; create table early (id int primary key)')
    const before = { env: { ...env, BASALT_DATABASE_URL: own.url } }
    expect(await basaltHere(['schema'], before)).toEqual({
      code: 0,
      stdout: [
        'collection  kind   columns  rls  expand',
        '----------  -----  -------  ---  ------',
        'early       table  1        no',
        '',
      ].join('\n'),
      stderr: '',
    })
    const { code, stdout, stderr } = await basaltHere(['types'], before)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('early: {')
  })
})
