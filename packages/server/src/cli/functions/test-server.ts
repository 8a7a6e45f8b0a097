import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { Command } from 'commander'
import { pino } from 'pino'
import { type App, createApp } from '../../app.ts'
import type { Config } from '../../configuration.ts'
import { openConnection } from '../../database/open.ts'
import { sql } from '../../database/sql.ts'
import { queryableOn } from '../../database/system-database.ts'
import { type FetchStub, FunctionFailure } from '../../features/functions/runtime/index.ts'
import { FunctionTester, type NewTestUser, type TestCall } from '../../features/functions/testing/index.ts'
import { AppError, messageOf, OperatorError } from '../../lib/errors.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import { openThrowAwayBranch, runFile } from '../../project/databases/replay.ts'
import { requireDevelopment } from '../../project/databases/reset.ts'
import { applyMigrations } from '../../project/migrations/apply.ts'
import { applyCurrent } from '../../project/migrations/current.ts'
import { readMigrationFiles } from '../../project/migrations/files.ts'
import { loadServerConfig, type Terminal, withConfigFlags } from '../context.ts'

/** Line of the test. The first one opens the database. */
type Request = { readonly id: number } & (
  | {
      readonly type: 'open'
      /** `rows` copies the database of the project; otherwise its migrations and seed make another one. */
      readonly from: 'migrations' | 'rows'
      readonly secrets: Readonly<Record<string, string>>
    }
  | { readonly type: 'begin' }
  | { readonly type: 'end'; readonly transaction: number }
  | { readonly type: 'call'; readonly transaction: number; readonly call: TestCall }
  | {
      readonly type: 'data'
      readonly transaction: number
      readonly as: string
      readonly fetch?: FetchStub | undefined
      readonly message: Parameters<FunctionTester['data']>[1]
    }
  | { readonly type: 'user'; readonly user: NewTestUser }
)

/** Line that a function has logged. */
interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: object
}

const origin = { address: '', requestId: 'test' }
/** Level of errors in lines of pino. */
const errorLevel = 50

/** Creates the command that `@basaltdb/functions/testing` starts. It speaks JSON lines on standard input and output. */
export function functionTestsCommand(terminal: Terminal): Command {
  const command = new Command('function-tests').description('serve a test of functions')
  return withConfigFlags(command).action(async () => {
    const { config } = loadServerConfig(terminal, command)
    const server = new TestServer(terminal, config)
    // The test process decides about the end, also on Ctrl-C.
    terminal.on('SIGINT', () => undefined)
    terminal.on('SIGTERM', () => terminal.stdin.destroy())
    const lines = createInterface({ input: terminal.stdin })
    lines.on('line', (line) => void server.receive(JSON.parse(line)))
    await new Promise((resolve) => terminal.stdin.on('close', resolve))
    await server.close()
    terminal.exit(0)
  })
}

/** Server of one test file, and its database. */
class TestServer {
  readonly #terminal: Terminal
  readonly #config: Config
  readonly #stubs = new Map<string, FetchStub>()
  readonly #logs = new Map<string, LogLine[]>()
  readonly #closing = new AsyncDisposableStack()
  #opening: Promise<FunctionTester> | undefined

  constructor(terminal: Terminal, config: Config) {
    this.#terminal = terminal
    this.#config = config
  }

  async receive(request: Request): Promise<void> {
    const requestId = `test-${randomUUID()}`
    const logs: LogLine[] = []
    this.#logs.set(requestId, logs)
    try {
      const value = await this.#handle(request, requestId)
      this.#send({ id: request.id, value, logs })
    } catch (error) {
      this.#send({ id: request.id, failure: describeFailure(error), logs })
    } finally {
      this.#logs.delete(requestId)
    }
  }

  async close(): Promise<void> {
    // A database that is being made is dropped, too.
    await this.#opening?.then((tester) => tester.endAll()).catch(() => undefined)
    await this.#closing.disposeAsync()
  }

  async #handle(request: Request, requestId: string): Promise<unknown> {
    if (request.type === 'open') {
      this.#opening ??= this.#open(request)
      await this.#opening
      return undefined
    }
    const tester = await this.#opening
    if (tester === undefined) throw new Error('the database has not been opened')
    switch (request.type) {
      case 'begin':
        return await tester.begin()
      case 'end':
        return await tester.end(request.transaction)
      case 'call':
        return await tester.call(request.transaction, request.call, requestId)
      case 'data': {
        const { transaction, message, as, fetch } = request
        return await tester.data(transaction, message, { as, fetch, requestId })
      }
      case 'user':
        return await tester.createUser(request.user)
    }
  }

  async #open({ from, secrets }: Extract<Request, { readonly type: 'open' }>): Promise<FunctionTester> {
    requireDevelopment(this.#config, 'a test of functions')
    const directory = await mkdtemp(join(tmpdir(), 'basalt-test-'))
    this.#closing.defer(() => rm(directory, { recursive: true, force: true }))
    const branch = await openThrowAwayBranch(this.#config, (branches, name) =>
      from === 'rows' ? branches.copy(name, true) : branches.create(name),
    )
    this.#closing.use(branch)
    // The server of the test must not write or remove deploys on this machine.
    if (from === 'rows') await forgetDeploy(branch.config)
    const app = await createApp({
      config: isolate(branch.config, directory),
      log: this.#createLog(),
      functionTest: { stubOf: (id) => this.#stubs.get(id) ?? 'the test has no fetch for its requests' },
    })
    this.#closing.defer(() => app.close())
    await this.#prepare(app, from)
    for (const [name, value] of Object.entries(secrets)) await app.secrets.set(name, value, origin)
    await app.functions.loadFolder(this.#config.functions.folder)
    return new FunctionTester({ host: app.functions, database: app.database, stubs: this.#stubs })
  }

  /** Applies what the database lacks of the project. */
  async #prepare({ database, catalog }: App, from: 'migrations' | 'rows'): Promise<void> {
    const { project } = this.#config
    await applyMigrations(database, { files: readMigrationFiles(project.migrations), settings: project })
    await applyCurrent(database, project.current)
    if (from === 'migrations') await runFile(database, project.seed)
    await catalog.refresh()
  }

  /** Creates a log that keeps the lines of the functions for the results of their calls. */
  #createLog() {
    const stream = new Writable({
      decodeStrings: false,
      write: (line: string, _encoding, done) => {
        this.#keep(line)
        done()
      },
    })
    return pino({ level: 'debug', base: null, timestamp: false }, stream)
  }

  #keep(line: string): void {
    const entry = parseJson(line)
    if (!isObject(entry)) return
    const {
      level,
      msg,
      source,
      requestId,
      function: name,
      ...fields
    } = entry as Readonly<Record<string, unknown>>
    const label = pino.levels.labels[Number(level)] ?? 'info'
    const known = this.#logs.get(String(requestId))
    if (source === 'functions' && known !== undefined)
      known.push({ level: label, message: String(msg), fields })
    // The process of the functions, or the server, reports something beside the calls.
    else if (source === 'functions' || Number(level) >= errorLevel)
      this.#terminal.stderr.write(`basalt: ${String(msg)} ${JSON.stringify({ function: name, ...fields })}\n`)
  }

  #send(message: object): void {
    this.#terminal.stdout.write(`${JSON.stringify(message)}\n`)
  }
}

/** Removes the live deploy of a copied database, as far as it has one. */
async function forgetDeploy(config: Config): Promise<void> {
  const options = { purpose: 'basalt function-tests', log: () => undefined }
  const { connection, close } = await openConnection(config, options)
  try {
    const database = queryableOn(connection)
    const { exists } = await database.one<{ exists: boolean }>(
      sql`select to_regclass('basalt.function_live') is not null as exists`,
    )
    if (exists) await database.count(sql`update basalt.function_live set hash = null`)
  } finally {
    await close()
  }
}

/** Returns the configuration of a server that reaches nothing outside of its database. */
function isolate(config: Config, directory: string): Config {
  return {
    ...config,
    // They are loaded once the tables exist.
    functions: { ...config.functions, folder: join(directory, 'functions') },
    jobs: { ...config.jobs, enabled: false },
    webhooks: { ...config.webhooks, deliver: false },
    email: { ...config.email, backend: 'log' },
    storage: {
      ...config.storage,
      enabled: config.storage.enabled !== false,
      backend: 'local',
      local_path: join(directory, 'storage'),
    },
    database: { ...config.database, max_conns: Math.min(config.database.max_conns, 8) },
    project: { ...config.project, migrate_at_start: false },
  }
}

/** Describes an error for the author of the test, who may read everything. */
function describeFailure(error: unknown): object {
  if (!(error instanceof AppError)) {
    const slug = error instanceof OperatorError ? 'test_database_failed' : 'internal_error'
    const stack = error instanceof Error && !(error instanceof OperatorError) ? { stack: error.stack } : {}
    return { status: 500, error: slug, message: messageOf(error), ...stack }
  }
  const { status, kind, message, cause, extras } = error
  const data = extras.data === undefined ? {} : { data: extras.data }
  if (cause instanceof FunctionFailure)
    return { status, error: kind, message: cause.message, stack: cause.stack, ...data }
  const detail = cause === undefined ? extras.detail : messageOf(cause)
  return { status, error: kind, message: detail === undefined ? message : `${message}: ${detail}`, ...data }
}
