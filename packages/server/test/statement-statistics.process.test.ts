import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { sendRequest } from './send-request.ts'
import { createDirectory, runCommand, type ServerProcess, startServer } from './server-process.ts'
import { testAdminPassword } from './test-config.ts'

const directory = createDirectory(undefined, 'data')
afterAll(() => directory[Symbol.asyncDispose]())

describe('statistics of statements in the embedded database', () => {
  const options = { config: { 'server.data_dir': join(directory.path, 'data') } }

  async function readAsAdmin({ url }: ServerProcess, path: string) {
    const signIn = await sendRequest('POST', `${url}/api/admin/auth`, {
      body: { password: testAdminPassword },
    })
    return await sendRequest('GET', `${url}/api/admin${path}`, { token: signIn.json.token })
  }

  async function run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(args, options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  async function queries(server: ServerProcess): Promise<string[]> {
    const { status, json } = await readAsAdmin(server, '/analytics/queries?limit=500')
    expect(status).toBe(200)
    return json.items.map(({ query }: { query: string }) => query)
  }

  test('are on without a setting and hold no value of a statement', async () => {
    await using server = await startServer(options)
    await run('sql', "select 'hidden-value' as counted_here")
    await run('sql', "create role other_role password 'hidden-password'")
    const seen = await queries(server)
    expect(seen).toContain('select $1 as counted_here')
    expect(seen.join()).not.toMatch(/hidden/)
  })

  test('belong to the server: no role of a caller reads them, and the schema does not show them', async () => {
    await using server = await startServer(options)
    const readers = `select r.rolname from pg_roles r, pg_depend d join pg_class c on c.oid = d.objid
      where d.refobjid = (select oid from pg_extension where extname = 'pg_stat_statements') and c.relkind = 'v'
        and starts_with(r.rolname, 'basalt_') and has_table_privilege(r.oid, c.oid, 'select')`
    const functions = `select p.proname from pg_proc p
      where p.pronamespace = 'basalt'::regnamespace and starts_with(p.proname, 'pg_stat')
        and has_function_privilege('basalt_authenticated', p.oid, 'execute')`
    expect(JSON.parse(await run('sql', '--json', readers))).toEqual([])
    expect(JSON.parse(await run('sql', '--json', functions))).toEqual([])
    expect((await readAsAdmin(server, '/structure/objects')).json.extensions).toEqual([])
    expect((await readAsAdmin(server, '/collections')).text).not.toContain('pg_stat_statements')
    expect(await run('migrate', 'status')).not.toContain('pg_stat_statements')
  })

  test('are left out of a dump of the schema', async () => {
    const program = join(directory.path, 'pg_dump')
    writeFileSync(
      program,
      `#!/bin/sh\n[ "$1" = --version ] && echo 'pg_dump (PostgreSQL) 99.4' || echo "$@"\n`,
    )
    chmodSync(program, 0o755)
    expect(await run('db', 'dump', '--pg-dump', program)).toContain(
      '--exclude-schema=basalt --exclude-extension=pg_stat_statements --schema-only',
    )
  })

  test('begin with the next start of a cluster without the extension', async () => {
    await run('sql', 'drop extension pg_stat_statements')
    await using server = await startServer(options)
    expect(await queries(server)).not.toEqual([])
  })

  test('leave an extension of the operator as it is', async () => {
    await run('sql', 'drop extension pg_stat_statements')
    await run('sql', 'create schema stats; create extension pg_stat_statements schema stats')
    await using server = await startServer(options)
    expect(await queries(server)).not.toEqual([])
    expect(
      await run('sql', "select extnamespace::regnamespace from pg_extension where extname like '%stat%'"),
    ).toContain('stats')
  })

  test('are absent when an operator loads other libraries, and the server starts', async () => {
    await run('sql', 'alter system set shared_preload_libraries = auto_explain')
    await using server = await startServer(options)
    const { status, json } = await readAsAdmin(server, '/analytics/queries')
    expect([status, json.error]).toEqual([503, 'query_statistics_unavailable'])
  })
})
