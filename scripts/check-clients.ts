/**
 * Generates clients from the API document with common generators, `npm run check:clients`. Fails unless they compile,
 * load, and have the names and list types that the programs of `clients/usage` expect. One document is that of every
 * server, the other that of a server with tables.
 *
 * The generator for Python runs if `python3` is installed. The one for Go needs `go`, `java` and the jar in
 * OPENAPI_GENERATOR. The generators for TypeScript need only Node.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readApiDocument } from './api-document.ts'

/** Tables with names and columns that clients cannot use unchanged, and plain ones. */
const tables = `
  create table album (album_id int generated always as identity primary key, title text not null);
  create table track (
    track_id int generated always as identity primary key, name text not null, album_id int references album,
    unit_price numeric(10, 2) not null, tags text[], details jsonb, added_at timestamptz not null default now()
  );
  create table webhook (id int primary key, type text);
  create table "2 für 1" (id int primary key, "order" int);
`

const generators = join(import.meta.dirname, 'clients')
const work = mkdtempSync(join(tmpdir(), 'basalt-clients-'))

try {
  run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], generators)
  const general = readFileSync(join(import.meta.dirname, '../docs/generated/openapi.json'), 'utf8')
  check('every-server', general)
  check('tables', JSON.stringify(await readApiDocument(tables)))
} finally {
  rmSync(work, { recursive: true, force: true })
}

function check(name: string, document: string): void {
  const folder = join(work, name)
  cpSync(join(generators, 'usage', name), folder, { recursive: true })
  writeFileSync(join(folder, 'openapi.json'), document)
  checkTypeScript(folder)
  checkPython(folder)
  checkGo(folder)
  console.log(`clients of the document "${name}" compile and load`)
}

function checkTypeScript(folder: string): void {
  const tool = (command: string, ...args: string[]) =>
    run(process.execPath, [join(generators, 'node_modules', command), ...args], folder)
  const heyApi = ['-c', '@hey-api/client-fetch', '-s', '--no-log-file']
  tool('@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'hey-api', ...heyApi)
  tool('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'openapi-typescript.ts')
  const options = ['--strict', '--target', 'es2022', '--module', 'commonjs', '--outDir', 'js']
  tool('typescript/bin/tsc', ...options, 'use-hey-api.ts', 'use-openapi-typescript.ts')
  run(process.execPath, ['js/use-hey-api.js'], folder)
}

function checkPython(folder: string): void {
  if (!isInstalled('python3', '--version')) {
    console.log('skipped: python3 is not installed')
    return
  }
  const python = join(work, 'python/bin/python')
  if (!isInstalled(python, '--version')) {
    run('python3', ['-m', 'venv', join(work, 'python')], work)
    run(python, ['-m', 'pip', 'install', '-q', '-r', join(generators, 'requirements.txt')], work)
  }
  const config = join(generators, 'python.json')
  const options = ['--path', 'openapi.json', '--config', config, '--meta', 'none', '--output-path', 'client']
  run(python, ['-m', 'openapi_python_client', 'generate', '--fail-on-warning', ...options], folder)
  run(python, ['use_client.py'], folder)
}

function checkGo(folder: string): void {
  const jar = process.env.OPENAPI_GENERATOR
  if (jar === undefined) {
    console.log('skipped: OPENAPI_GENERATOR does not name the generator for Go')
    return
  }
  const options = ['--package-name', 'client', '--git-host', 'example.com', '--git-user-id', 'basalt']
  const names = ['--git-repo-id', 'client', '--name-mappings', 'hasDefault=HasDefaultValue']
  run(
    'java',
    ['-jar', jar, 'generate', '-i', 'openapi.json', '-g', 'go', '-o', 'go', ...options, ...names],
    folder,
  )
  // Without the generated tests, which need a package of their own.
  run('go', ['vet', '.', './use'], join(folder, 'go'))
  run('go', ['run', './use'], join(folder, 'go'))
}

function isInstalled(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

/** @throws Error with the output of the command when it fails */
function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}\n${error ?? ''}${stdout}${stderr}`)
}
