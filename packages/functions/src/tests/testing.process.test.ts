import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cleanUpAfterKill } from '../../../server/test/clean-up-process.ts'
import { inheritedEnvironment, sourceCommand } from '../../../server/test/command.ts'
import {
  createDirectory,
  endOf,
  isRoot,
  runCommand,
  unprivileged,
} from '../../../server/test/server-process.ts'
import { waitFor } from '../../../server/test/wait-for.ts'

// For root, PostgreSQL would keep its files outside of the directory.
const account = isRoot ? unprivileged : undefined
const directory = createDirectory(account, '.basalt')
const project = directory.path

// The packages are those of the repository, from their sources.
beforeAll(() => {
  cpSync(join(import.meta.dirname, 'shop'), project, { recursive: true })
  symlinkSync(join(import.meta.dirname, '../../../../node_modules'), join(project, 'node_modules'))
})
afterAll(() => directory[Symbol.asyncDispose]())

/** Starts Node in the project, as its author does. */
function launch(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, ['--conditions=@basaltdb/source', ...args], {
    cwd: project,
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...account,
  })
  if (child.pid !== undefined) child.once('exit', cleanUpAfterKill({ pid: child.pid }))
  return child
}

async function run(args: readonly string[], env?: Readonly<Record<string, string>>) {
  const child = launch(args, env)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  return { ...(await endOf(child)), output }
}

/** Writes a program of the project, and returns its name. */
function program(name: string, text: string): string {
  writeFileSync(join(project, name), `import { testDatabase } from '@basaltdb/functions/testing'\n${text}\n`)
  return name
}

async function countDatabases(): Promise<string> {
  const count = "select count(*) from pg_database where datname like '%\\_tmp\\_%'"
  const { stdout, stderr } = await runCommand(['sql', '--json', count], {
    config: { 'server.data_dir': join(project, '.basalt'), 'auth.jwt_secret': '' },
    executable: sourceCommand,
    account,
  })
  return /"count": "?(\d+)/.exec(stdout)?.[1] ?? stderr
}

describe('testDatabase', () => {
  test('runs the test files of a project at the same time, and leaves no database', async () => {
    const files = readdirSync(join(project, 'functions')).filter((name) => name.endsWith('.test.ts'))
    const { code, output } = await run(['--test', ...files.map((name) => join('functions', name))])
    expect(code, output).toBe(0)
    await waitFor('the databases to be dropped', async () => (await countDatabases()) === '0')
  })

  test('drops its database when the process of the test is killed', async () => {
    const child = launch([
      program('waits.ts', "await testDatabase(); console.log('open'); setInterval(() => {}, 1000)"),
    ])
    const output: string[] = []
    child.stdout?.on('data', (chunk) => output.push(String(chunk)))
    await waitFor('the database', () => output.join('').includes('open'))
    expect(await countDatabases()).toBe('1')
    child.kill('SIGKILL')
    await waitFor('the database to be dropped', async () => (await countDatabases()) === '0')
  })

  test('copies the rows of the project on request, and leaves them as they are', async () => {
    const sql = (text: string) =>
      runCommand(['sql', '--json', text], {
        config: { 'server.data_dir': join(project, '.basalt'), 'auth.jwt_secret': '' },
        executable: sourceCommand,
        account,
      })
    await sql('create table kept (id int primary key); insert into kept values (1)')
    const copying = `
      await using database = await testDatabase({ from: 'rows' })
      await database.transaction(async ({ db }) => {
        const change = await db('admin').sql\`update kept set id = 2\`
        console.log(change.count)
      })`
    expect(await run([program('copies.ts', copying)])).toMatchObject({ code: 0, output: '1\n' })
    expect((await sql('select id from kept')).stdout).toContain('1')
  })

  test('rejects a configuration that serves other machines, faulty functions, and a folder without a server', async () => {
    const opens = program('opens.ts', 'await testDatabase()')
    const { code, output } = await run([opens], { BASALT_SERVER_HOST: '0.0.0.0' })
    expect({ code, output }).toMatchObject({
      code: 1,
      output: expect.stringContaining('a test of functions is for development: the embedded database'),
    })
    const faulty = await run([opens], { BASALT_FUNCTIONS_FOLDER: join(project, 'migrations/none') })
    expect(faulty.output).toMatch(/ENOENT: no such file or directory.*none/)
    const elsewhere = program('elsewhere.ts', "await testDatabase({ project: '/' })")
    expect((await run([elsewhere])).output).toContain(
      '/ has no package basaltdb, whose server runs the functions: install it (npm install --save-dev basaltdb)',
    )
  })
})
