import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import type { Logger } from 'pino'
import type { App } from '../app.ts'
import { listChangedKeys } from '../config/effective.ts'
import { type Config, settings } from '../configuration.ts'
import { catalogScopeOf } from '../database/catalog/load.ts'
import { readCaseFiles } from '../features/data/policies/index.ts'
import { generateTypes } from '../features/data/types/index.ts'
import { startProviderStandIn } from '../features/identity/social-login/index.ts'
import { isLoopback } from '../lib/addresses.ts'
import { systemClock } from '../lib/clock.ts'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { TaskQueue } from '../lib/task-queue.ts'
import { runFile } from '../project/databases/replay.ts'
import { requireDevelopment } from '../project/databases/reset.ts'
import { watchFiles } from '../project/dev/watch.ts'
import { applyMigrations } from '../project/migrations/apply.ts'
import { applyCurrent } from '../project/migrations/current.ts'
import { readMigrationFiles } from '../project/migrations/files.ts'
import { loadServerConfig, type Terminal, withConfigFlags } from './context.ts'
import { openPolicyTester, type PolicyTester } from './policy-server.ts'
import { replaceFile } from './replace-file.ts'
import { type OnStarted, serve } from './start.ts'

export function devCommand(terminal: Terminal): Command {
  const command = new Command('dev').description(
    'start the server and watch the project: apply migrations, schema/current.sql and seed.sql, write types, test policies and load functions on every change',
  )
  command.option(
    '--provider-stand-in <url>',
    'server of this machine that replaces sign-in providers without a client, instead of the page of basalt dev',
    parseStandIn,
  )
  return withConfigFlags(command).action(async ({ providerStandIn }: { providerStandIn?: string }) => {
    const { config } = loadServerConfig(terminal, command)
    requireDevelopment(config, 'basalt dev')
    const own = providerStandIn === undefined ? await startProviderStandIn() : undefined
    // The watcher applies them, and reports failures without ending the server.
    const served = { ...config, project: { ...config.project, migrate_at_start: false } }
    const onStarted: OnStarted = (app, _config, log) => {
      own?.setServer(() => app.publicBaseUrl())
      const address = `${app.publicBaseUrl()}/api/auth/oauth/google`
      if (config.auth.enabled)
        log.info(
          { address },
          'sign-in providers without a client are replaced by a page that asks who you are',
        )
      const types = createTypesWriter(app, config, log)
      const stops = [
        watchProject(app, config, log, types),
        watchFunctions(app, config, log, types),
        watchConfiguration(terminal, command, config, log),
      ]
      return {
        async stop() {
          await Promise.all(stops.map((stop) => stop()))
          await own?.close()
        },
      }
    }
    try {
      await serve(terminal, served, { onStarted, providerStandIn: own?.url ?? providerStandIn ?? '' })
    } catch (error) {
      await own?.close()
      throw error
    }
  })
}

/** Parses the address of a stand-in. Another machine must not decide who signs in. */
function parseStandIn(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || !isLoopback(url.hostname))
    throw new InvalidArgumentError('It is not an http address of this machine.')
  return text.replace(/\/$/, '')
}

/** Watches the configuration and reports the keys that need a restart. @returns a function that stops */
function watchConfiguration(
  terminal: Terminal,
  command: Command,
  config: Config,
  log: Logger,
): () => Promise<void> {
  const { config: given } = command.opts<{ config?: string }>()
  const name = given ?? (terminal.env.BASALT_CONFIG || 'basalt.toml')
  const file = resolve(terminal.cwd(), name)
  return watchFiles({ files: [file], folders: [] }, async () => {
    try {
      const { config: now } = loadServerConfig(terminal, command)
      const keys = listChangedKeys(settings, config, now)
      if (keys.length > 0) log.warn({ keys }, `restart needed: ${name} has changed (${keys.join(', ')})`)
    } catch (error) {
      log.error(error instanceof OperatorError ? {} : { err: error }, messageOf(error))
    }
  })
}

/** Watches the files of the project. @returns a function that stops */
function watchProject(app: App, config: Config, log: Logger, types: TypesWriter): () => Promise<void> {
  const { current, seed, migrations, policies } = config.project
  const tests = watchPolicies(config, log)
  let hasSucceeded = false
  const stop = watchFiles({ files: [current, seed], folders: [migrations, policies] }, async (changed) => {
    const startedAt = performance.now()
    try {
      // After a failure any file may contain the remedy.
      const isSchema =
        !hasSucceeded || [...changed].some((path) => path !== seed && !path.startsWith(policies))
      if (isSchema) await applySchema(app, config, log, types)
      if (isSchema || changed.has(seed)) await runFile(app.database, seed)
      hasSucceeded = true
      await tests.run()
      log.info({ durationMs: Math.round(performance.now() - startedAt) }, 'the project is up to date')
    } catch (error) {
      hasSucceeded = false
      // A fault in a file is one line; any other one is a fault of ours.
      log.error(error instanceof OperatorError ? {} : { err: error }, messageOf(error))
    }
  })
  return async () => {
    await stop()
    await tests.close()
  }
}

/** Watches the functions, which the start of the server has loaded. @returns a function that stops */
function watchFunctions(
  { functions }: App,
  { functions: { folder } }: Config,
  log: Logger,
  types: TypesWriter,
): () => Promise<void> {
  const writeTypes = () =>
    types.write().catch((error) => log.error({ reason: messageOf(error) }, 'failed to write the types'))
  let isFirst = true
  return watchFiles({ files: [], folders: [folder] }, async () => {
    if (isFirst) {
      isFirst = false
      // A project without files of a schema has no other occasion.
      await writeTypes()
      return
    }
    const startedAt = performance.now()
    try {
      if (existsSync(folder)) await functions.loadFolder(folder)
      else functions.unload()
      log.info({ durationMs: Math.round(performance.now() - startedAt) }, 'functions loaded')
    } catch (error) {
      log.error({ reason: messageOf(error) }, 'failed to load the functions; the previous ones are served')
      return
    }
    await writeTypes()
  })
}

async function applySchema(
  { database, catalog }: App,
  config: Config,
  log: Logger,
  types: TypesWriter,
): Promise<void> {
  await applyMigrations(database, {
    files: readMigrationFiles(config.project.migrations),
    settings: config.project,
    onApplied: ({ name, durationMs }) => log.info({ name, durationMs }, 'migration applied'),
    onRetry: (message) => log.warn({ reason: message }, 'a migration waits for a lock'),
  })
  const statements = await applyCurrent(database, config.project.current)
  if (statements > 0) log.info({ statements }, 'schema/current.sql applied')
  await types.write()
  await catalog.refresh()
}

/** Writer of the generated types. Writes run one after the other, because they replace one file. */
interface TypesWriter {
  write(): Promise<void>
}

function createTypesWriter({ database, functions }: App, config: Config, log: Logger): TypesWriter {
  const { types } = config.project
  const queue = new TaskQueue()
  const write = async () => {
    const { text } = await database.system.transaction((transaction) =>
      generateTypes(
        transaction,
        catalogScopeOf(config),
        'client',
        systemClock.now(),
        functions.publishedRoutes,
      ),
    )
    if (await replaceFile(types, text)) log.info({ file: types }, 'types written')
  }
  return { write: async () => (types === '' ? undefined : await queue.add(write)) }
}

/**
 * Watches the policy tests. It keeps their server, because creating another one takes longer than running them.
 */
function watchPolicies(config: Config, log: Logger) {
  let tester: PolicyTester | undefined
  const close = async () => {
    const closing = tester
    tester = undefined
    await closing?.[Symbol.asyncDispose]()
  }
  const run = async () => {
    const files = readCaseFiles(config.project.policies)
    if (files.length === 0) return
    tester ??= await openPolicyTester(config)
    const outcomes = await tester.run(readMigrationFiles(config.project.migrations), files)
    for (const { passed, file, name, request, expected, actual } of outcomes) {
      if (!passed) log.error({ file, request, expected, actual }, `policy test failed: ${name}`)
    }
    if (outcomes.every(({ passed }) => passed)) log.info({ passed: outcomes.length }, 'policy tests passed')
  }
  return {
    close,
    async run() {
      try {
        await run()
      } catch (error) {
        // The next run starts with another database, because this one may have half of a change.
        await close()
        throw error
      }
    },
  }
}
