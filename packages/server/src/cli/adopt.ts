import { Writable } from 'node:stream'
import { Command } from 'commander'
import type { Config } from '../configuration.ts'
import { readCatalog } from '../database/catalog/load.ts'
import type { Relation } from '../database/catalog/model.ts'
import type { Connection } from '../database/connection/connection.ts'
import { probeEngine } from '../database/connection/probe.ts'
import { openConnection, openForPreparation, type Preparation } from '../database/open.ts'
import { inTransaction, type Queryable } from '../database/system-database.ts'
import { systemClock } from '../lib/clock.ts'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { type Adoption, applyAdoption, listApplied, writeBaseline } from '../project/adopt/adopt.ts'
import {
  compile,
  findPeopleRecord,
  isEmpty,
  type PeopleRecord,
  type Statements,
  writeMigration,
} from '../project/adopt/compile.ts'
import { findFunction, readFacts, readLogin } from '../project/adopt/facts.ts'
import { findTable } from '../project/adopt/names.ts'
import { findOwnerships } from '../project/adopt/ownership.ts'
import {
  keyOf,
  listCandidates,
  listMatches,
  type People,
  parseMatch,
  writeMatch,
} from '../project/adopt/people.ts'
import { type Choices, type Proposal, propose, type Surroundings } from '../project/adopt/proposal.ts'
import { type Trial, tryProposal } from '../project/adopt/trial.ts'
import { writeUndo } from '../project/adopt/undo.ts'
import { dumpSchema } from '../project/databases/dump.ts'
import { openPrompts, type Prompts } from './adopt-prompts.ts'
import { describeAdoption, describeProposal, describeTrial, toJson } from './adopt-report.ts'
import {
  type JsonOption,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  warn,
  withConfigFlags,
} from './context.ts'

interface Options extends JsonOption {
  readonly people?: string
  readonly match?: string | undefined
  readonly function?: string
  readonly write?: string
  readonly signedIn?: string
  readonly public?: string
  readonly leave?: string
  readonly trialTimeout: string
  readonly pgDump: string
  readonly undo?: boolean
  readonly yes?: boolean
}

export function adoptCommand(terminal: Terminal): Command {
  const command = new Command('adopt')
    .description(
      'propose policies for an existing database from the foreign keys that lead to people, try them, and apply them as a migration',
    )
    .option('--people <table>', 'table of people, such as customer')
    .option('--match <how>', 'how a caller is found there: id=COLUMN, email=COLUMN or claim:NAME=COLUMN')
    .option(
      '--function <name>',
      "function that returns the caller's person, new or existing",
      'current_person',
    )
    .option('--write <tables>', 'tables in which callers write their own rows, separated by commas')
    .option('--signed-in <tables>', 'tables whose rows every signed-in caller reads')
    .option('--public <tables>', 'tables whose rows everyone reads, even without a token')
    .option('--leave <tables>', 'tables that are not changed')
    .option(
      '--trial-timeout <seconds>',
      'maximum time of the trial, which locks the tables; 0 for no trial',
      '10',
    )
    .option(
      '--pg-dump <path>',
      "program that writes the baseline, of the database's version or later",
      'pg_dump',
    )
    .option('--undo', 'undo what basalt adopt has done, by another migration')
    .option('--yes', 'apply without confirmation')
    .option('--json', 'print the proposal, its trial and what was applied')
  return withConfigFlags(command).action(async (options: Options) => {
    const { config } = loadCommandConfig(terminal, command)
    const isSilent = options.json === true || options.yes === true
    const prompts = isSilent ? undefined : openPrompts(terminal)
    try {
      const run = { terminal, config, options, prompts }
      await (options.undo === true ? undo(run) : adopt(run))
    } finally {
      prompts?.close()
    }
  })
}

const openOptions = { purpose: 'basalt adopt', log: () => undefined }

interface Run {
  readonly terminal: Terminal
  readonly config: Config
  readonly options: Options
  /** Undefined without a terminal. */
  readonly prompts: Prompts | undefined
}

async function adopt(run: Run): Promise<void> {
  const { terminal, config, options } = run
  const timeoutMs = parseTimeout(options.trialTimeout)
  const { connection, close } = await openConnection(config, openOptions)
  let plan: Plan
  try {
    plan = await makePlan(run, connection, timeoutMs)
  } finally {
    await close()
  }
  const { proposal, statements, trial } = plan
  const json = options.json === true
  if (!json) {
    print(terminal, describeProposal(proposal, statements))
    if (trial !== undefined) print(terminal, describeTrial(proposal, trial))
  }
  const isNothing = isEmpty(statements)
  const mayApply = !isNothing && (await isConfirmed(run, 'Apply this as a migration?'))
  const applied = mayApply ? await apply(run, plan) : undefined
  if (json) printJson(terminal, toJson(proposal, statements, trial, applied))
  else if (isNothing) print(terminal, '\nNothing is to be done.\n')
  else if (applied === undefined) print(terminal, '\nNothing is changed. Add --yes to apply it.\n')
  else print(terminal, describeAdoption(proposal, applied))
}

function parseTimeout(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds >= 0 && seconds <= 3600) return seconds * 1000
  throw new OperatorError(`--trial-timeout: expected seconds from 0 to 3600, not ${JSON.stringify(text)}`, {
    exitCode: 2,
  })
}

async function isConfirmed({ options, prompts }: Run, text: string): Promise<boolean> {
  return options.yes === true || ((await prompts?.confirm(text)) ?? false)
}

interface Plan {
  readonly proposal: Proposal
  readonly choices: Choices
  readonly statements: Statements
  readonly trial: Trial | undefined
  /** Facts before the first start, for the statements that undo. */
  readonly surroundings: Surroundings
  /** True if the schema is no part of any migration yet. */
  readonly needsBaseline: boolean
}

async function makePlan(given: Run, connection: Connection, timeoutMs: number): Promise<Plan> {
  const { config } = given
  const engine = await probeEngine(connection)
  const { surroundings, migrations } = await inTransaction(connection, async (transaction) => ({
    surroundings: await readSurroundings(transaction, config),
    migrations: await listApplied(transaction),
  }))
  const run = withRecord(given, surroundings, findPeopleRecord(migrations.map(({ content }) => content)))
  const table = await choosePeople(run, surroundings)
  const people = await choosePerson(run, surroundings, table, connection)
  const choices = await chooseChoices(run, surroundings, people)
  const proposal = propose(surroundings, people, choices)
  const statements = compile(proposal)
  const trial =
    timeoutMs === 0
      ? undefined
      : await tryProposal(connection, {
          proposal,
          statements: [
            statements.function,
            statements.security,
            statements.policies,
            statements.grants,
          ].flat(),
          schemas: config.database.schemas,
          engine,
          lockTimeoutMs: config.project.lock_timeout_ms,
          timeoutMs,
        })
  return { proposal, choices, statements, trial, surroundings, needsBaseline: migrations.length === 0 }
}

/** Fills missing flags from an earlier adoption, unless they name other people. */
function withRecord(run: Run, { catalog }: Surroundings, record: PeopleRecord | undefined): Run {
  const { options } = run
  if (record === undefined || !catalog.relations.has(record.people)) return run
  if (options.people !== undefined && options.people !== record.people) return run
  const { people, match, function: own } = record
  return { ...run, options: { people, match, ...options, function: options.function ?? own } }
}

async function readSurroundings(transaction: Queryable, { database }: Config): Promise<Surroundings> {
  const { schemas } = database
  return {
    // Views that bypass policies are found by their gaps.
    catalog: await readCatalog(transaction, { schemas, requireRls: true }, systemClock.now()),
    facts: await readFacts(transaction, schemas),
    login: await readLogin(transaction),
  }
}

async function choosePeople({ options, prompts }: Run, { catalog }: Surroundings): Promise<Relation> {
  if (options.people !== undefined) return findTable(catalog, options.people, '--people')
  const tables = [...catalog.relations.values()]
  const reached = (table: Relation) => findOwnerships(catalog, table).size - 1
  const candidates = listCandidates(tables, reached)
  if (candidates.length === 0) throw new OperatorError('no table has a key, so none can be people')
  if (prompts === undefined) {
    const names = candidates.slice(0, 5).map(({ collection }) => collection)
    throw new OperatorError(`name the table of people by --people, such as ${names.join(', ')}`, {
      exitCode: 2,
    })
  }
  const name = await prompts.choose(
    'Which table is people?',
    candidates.slice(0, 9).map((table) => ({
      value: table.collection,
      hint: `${reached(table)} tables lead to it`,
    })),
  )
  return findTable(catalog, name, '--people')
}

async function choosePerson(
  { config, options, prompts }: Run,
  { catalog }: Surroundings,
  table: Relation,
  connection: Connection,
): Promise<People> {
  const key = keyOf(table)
  const own = parseFunctionName(options.function ?? 'current_person', table)
  const existing = await inTransaction(connection, (transaction) => findFunction(transaction, own))
  if (existing !== undefined) {
    const expected = key.map(({ typeName }) => typeName).join(', ')
    if (
      !existing.is_definer ||
      !existing.is_stable ||
      !existing.has_path ||
      !returnsKey(existing.returns, key)
    ) {
      throw new OperatorError(
        `the function ${own.schema}.${own.name}() exists, and does not identify a person: expected it to be stable security ` +
          `definer, with its own search_path, and to return ${expected}; or name another one by --function`,
      )
    }
    const match = options.match === undefined ? undefined : parseMatch(table, options.match)
    return { table, key, match, function: { ...own, exists: true } }
  }
  if (!config.database.schemas.includes(own.schema) && !catalog.schemas.includes(own.schema)) {
    throw new OperatorError(`--function: the schema ${own.schema} is not one of database.schemas`, {
      exitCode: 2,
    })
  }
  const text = options.match ?? (await chooseMatch(prompts, table))
  return { table, key, match: parseMatch(table, text), function: { ...own, exists: false } }
}

/** Returns true if the function returns the key: its type, or a table with its columns. */
function returnsKey(returns: string, key: People['key']): boolean {
  const types = key.map(({ type }) => type.name)
  if (key.length === 1) return types.includes(returns as (typeof types)[number])
  return key.every(({ name }) => returns.startsWith('TABLE(') && returns.includes(name))
}

function parseFunctionName(text: string, { schema }: Relation): { schema: string; name: string } {
  const [, before, name = ''] = /^(?:([^.]+)\.)?([^.]+)$/.exec(text) ?? []
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) {
    throw new OperatorError(
      `--function: expected a name such as current_person, not ${JSON.stringify(text)}`,
      {
        exitCode: 2,
      },
    )
  }
  return { schema: before ?? schema, name }
}

async function chooseMatch(prompts: Prompts | undefined, table: Relation): Promise<string> {
  const matches = listMatches(table).map(writeMatch)
  if (prompts === undefined) {
    const hint = matches.length === 0 ? 'email=COLUMN' : matches.join(' or ')
    throw new OperatorError(`say by --match how a caller is found in ${table.collection}, such as ${hint}`, {
      exitCode: 2,
    })
  }
  return await prompts.choose(
    `How is a caller found in ${table.collection}? By id=COLUMN, email=COLUMN (a verified address) or claim:NAME=COLUMN`,
    matches.map((value) => ({
      value,
      hint: value.startsWith('email=') ? 'a verified address' : 'the id of the account',
    })),
  )
}

async function chooseChoices(
  { options, prompts }: Run,
  { catalog }: Surroundings,
  people: People,
): Promise<Choices> {
  const names = (text: string | undefined) => splitNames(text, catalog.relations)
  const given: Choices = {
    write: names(options.write),
    signedIn: names(options.signedIn),
    public: names(options.public),
    leave: names(options.leave),
  }
  const isInteractive =
    prompts !== undefined && options.signedIn === undefined && options.public === undefined
  if (!isInteractive) return given
  const reached = findOwnerships(catalog, people.table)
  const others = [...catalog.relations.values()].filter(
    (table) =>
      !reached.has(table) &&
      (table.kind === 'table' || table.kind === 'partitioned_table') &&
      !table.isOfExtension,
  )
  if (others.length === 0) return given
  const list = others.map(({ collection }) => collection).join(', ')
  return {
    ...given,
    signedIn: names(
      await prompts.input(
        `These tables do not lead to people, and are closed: ${list}.\nWhich of them may every signed-in caller read? (names, or none)`,
      ),
    ),
    public: names(await prompts.input('Which may everyone read, even without a token? (names, or none)')),
  }
}

/** Splits names at commas, unless the whole text is one. */
function splitNames(text: string | undefined, known: ReadonlyMap<string, Relation>): string[] {
  if (text === undefined || text.trim() === '') return []
  if (known.has(text)) return [text]
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

async function withPreparation<Result>(
  config: Config,
  work: (database: Preparation) => Promise<Result>,
): Promise<Result> {
  const database = await openForPreparation(config, openOptions)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

async function apply(run: Run, plan: Plan): Promise<Adoption> {
  const { terminal, config, options } = run
  const { proposal, choices, statements, surroundings, needsBaseline } = plan
  return await withPreparation(config, async (database) => {
    const { engine, connectionString } = database
    const baseline = needsBaseline
      ? await dumpBaseline(run, {
          connection: connectionString,
          serverMajor: Number.parseInt(engine.version, 10),
        })
      : undefined
    return await applyAdoption(
      database,
      {
        title: 'adopt',
        baseline,
        async write(transaction) {
          const now = await readSurroundings(transaction, config)
          // The preparation has changed the grants to callers, which are restored as they were before.
          const facts = new Map(
            [...now.facts].map(([oid, fact]) => [oid, { ...fact, ...grantsOf(surroundings.facts.get(oid)) }]),
          )
          const current = compile(propose({ ...now, facts }, renew(proposal.people, now), choices))
          if (JSON.stringify(current) !== JSON.stringify(statements)) {
            throw new OperatorError(
              'the schema has changed since it was shown, and nothing is done: run basalt adopt again',
            )
          }
          return writeMigration(proposal.people, statements)
        },
      },
      {
        folder: config.project.migrations,
        settings: config.project,
        now: systemClock.now(),
        onRetry: (message) => options.json !== true && warn(terminal, message),
      },
    )
  })
}

function grantsOf(
  facts: Surroundings['facts'] extends ReadonlyMap<string, infer Facts> ? Facts | undefined : never,
) {
  if (facts === undefined) return {}
  const { grants, sequences, isSchemaPublic, isOpened } = facts
  return { grants, sequences, isSchemaPublic, isOpened }
}

/** Returns people with the relation and the columns of another catalog. */
function renew(people: People, { catalog }: Surroundings): People {
  const table = findTable(catalog, people.table.collection, '--people')
  const { match } = people
  return {
    ...people,
    table,
    key: keyOf(table),
    match: match === undefined ? undefined : parseMatch(table, writeMatch(match)),
  }
}

/** Dumps the schema as the baseline. Without pg_dump the command warns, and only the drift is recorded. */
async function dumpBaseline(
  { terminal, config, options }: Run,
  target: { readonly connection: string; readonly serverMajor: number },
): Promise<string | undefined> {
  let dump = ''
  const output = new Writable({
    write(chunk, _, done) {
      dump += String(chunk)
      done()
    },
  })
  try {
    await dumpSchema({
      ...target,
      isEmbedded: config.database.url === '',
      withRows: false,
      program: options.pgDump,
      env: terminal.env,
      output,
    })
    return writeBaseline(dump)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    warn(
      terminal,
      `${messageOf(error)}. Without it there is no baseline file: the migrations do not create the schema`,
    )
    return undefined
  }
}

async function undo(run: Run): Promise<void> {
  const { terminal, config, options } = run
  const json = options.json === true
  await withPreparation(config, async (database) => {
    const found = await inTransaction(database.connection, writeUndo)
    if (found === undefined) throw new OperatorError('basalt adopt has done nothing that could be undone')
    if (!json) print(terminal, found.content)
    const notes = found.guarded.map(
      (table) => `${table} keeps row-level security, because it has other policies`,
    )
    if (!json) for (const note of notes) print(terminal, `Note: ${note}.\n`)
    const mayApply = await isConfirmed(run, 'Apply this as a migration?')
    const applied = mayApply
      ? await applyAdoption(
          database,
          {
            title: 'undo_adopt',
            async write(transaction) {
              const current = await writeUndo(transaction)
              if (current?.content === found.content) return found.content
              throw new OperatorError(
                'the schema has changed since it was shown, and nothing is done: run it again',
              )
            },
          },
          {
            folder: config.project.migrations,
            settings: config.project,
            now: systemClock.now(),
            onRetry: (message) => !json && warn(terminal, message),
          },
        )
      : undefined
    if (json) {
      printJson(terminal, {
        undoes: found.adoptions,
        sql: found.content,
        notes,
        applied: applied === undefined ? null : { migration: applied.migration },
      })
    } else if (applied === undefined) print(terminal, '\nNothing is changed. Add --yes to apply it.\n')
    else print(terminal, `\napplied ${applied.migration}\n`)
  })
}
