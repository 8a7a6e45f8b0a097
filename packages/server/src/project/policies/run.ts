import { runStatement, ScriptFailure } from '../../database/errors/script-failure.ts'
import type { Database } from '../../database/open.ts'
import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import {
  bindValues,
  type CaseFile,
  type PolicyCase,
  type Verb,
  verbOf,
} from '../../features/data/policies/index.ts'
import { OperatorError } from '../../lib/errors.ts'
import { splitStatements } from '../../lib/sql-statements.ts'
import { type CaseAnswer, judge } from './judge.ts'

/** Server that runs the cases, created with a {@link Rehearsal}. */
export interface PolicyServer {
  readonly database: Database
  readonly request: (
    method: string,
    path: string,
    token: string | undefined,
    body: unknown,
  ) => Promise<CaseAnswer>
  readonly signToken: (claims: {
    readonly id: string
    readonly email: string
    readonly isEmailVerified: boolean
    readonly isAnonymous: boolean
    readonly aal: 'aal1' | 'aal2'
  }) => string
  readonly createKey: (
    userId: string,
    scope: string,
    tables: readonly string[] | undefined,
  ) => Promise<string>
  /** Sets the statements before every request, which run as the owner. */
  setSetup(texts: readonly string[]): void
}

export interface CaseOutcome {
  readonly file: string
  readonly name: string
  /** Request such as `list todo as alice`. */
  readonly request: string
  readonly passed: boolean
  /** Undefined for a passed case. */
  readonly expected?: string
  readonly actual?: string
}

/** Runs the cases of each file, each on the state after the setup. @throws OperatorError when a setup fails */
export async function runCaseFiles(server: PolicyServer, files: readonly CaseFile[]): Promise<CaseOutcome[]> {
  const resetSequences = await statementOfSequences(server.database.system)
  const outcomes: CaseOutcome[] = []
  try {
    for (const file of files) outcomes.push(...(await runCaseFile(server, file, resetSequences)))
    return outcomes
  } finally {
    // The next run needs the sequences.
    for (const text of resetSequences) await server.database.system.execute({ text, values: [] })
  }
}

async function runCaseFile(
  server: PolicyServer,
  file: CaseFile,
  resetSequences: readonly string[],
): Promise<CaseOutcome[]> {
  const { system } = server.database
  await system.transaction((transaction) => insertUsers(transaction, file))
  const statements = splitStatements(file.setup)
  await tryScript(server.database, file, statements)
  const keys = new Map<string, string>()
  for (const [name, { user, scope = '*', tables }] of file.keys) {
    keys.set(name, await server.createKey(file.users.get(user)?.id ?? '', scope, tables))
  }
  server.setSetup([...resetSequences, ...statements.map(({ text }) => text)])
  const outcomes: CaseOutcome[] = []
  for (const each of file.cases) outcomes.push(await runCase(server, file, keys, each))
  server.setSetup([])
  return outcomes
}

async function runCase(
  server: PolicyServer,
  file: CaseFile,
  keys: ReadonlyMap<string, string>,
  policyCase: PolicyCase,
): Promise<CaseOutcome> {
  const { verb, target } = verbOf(file.name, policyCase)
  const token = keys.get(policyCase.as) ?? userToken(server, file, policyCase)
  const { method, path } = requestOf(verb, target, policyCase)
  const body = ['create', 'update', 'call'].includes(verb)
    ? (bindValues(policyCase.values ?? {}, file.users) ?? {})
    : undefined
  const answer = await server.request(method, path, token, body)
  // Both were parsed from JSON.
  const expected = bindValues(policyCase, file.users) as PolicyCase
  const difference = judge(expected, answer)
  const id = policyCase.id === undefined ? '' : ` ${policyCase.id}`
  const aal = policyCase.aal === undefined ? '' : ` (${policyCase.aal})`
  return {
    file: file.name,
    name: policyCase.name,
    request: `${verb} ${target}${id} as ${policyCase.as}${aal}`,
    passed: difference === undefined,
    ...difference,
  }
}

function requestOf(verb: Verb, target: string, { id, filter }: PolicyCase): { method: string; path: string } {
  const collection = `/api/collections/${encodeURIComponent(target)}`
  const record = `${collection}/${encodeURIComponent(String(id))}`
  const query = new URLSearchParams({ perPage: '500', ...(filter === undefined ? {} : { filter }) })
  if (verb === 'list') return { method: 'GET', path: `${collection}?${query}` }
  if (verb === 'get') return { method: 'GET', path: record }
  if (verb === 'create') return { method: 'POST', path: collection }
  if (verb === 'update') return { method: 'PATCH', path: record }
  if (verb === 'delete') return { method: 'DELETE', path: record }
  return { method: 'POST', path: `/api/rpc/${encodeURIComponent(target)}` }
}

/** Returns the token of the case's user; undefined for `anonymous`. */
function userToken(server: PolicyServer, { users }: CaseFile, { as, aal = 'aal1', claims }: PolicyCase) {
  const user = users.get(as)
  if (user === undefined) return undefined
  const { id, email = '', email_verified = false, is_anonymous = false } = { ...user, ...claims }
  return server.signToken({ id, email, isEmailVerified: email_verified, isAnonymous: is_anonymous, aal })
}

/**
 * Inserts the users. Those of other files stay, without their addresses: tokens of deleted users are revoked,
 * also for the next run.
 */
async function insertUsers(transaction: Queryable, { users }: CaseFile): Promise<void> {
  await transaction.count(sql`update basalt.users set email = null`)
  for (const { id, email, email_verified = false, is_anonymous = false } of users.values()) {
    await transaction.count(sql`
      insert into basalt.users (id, email, email_verified_at, is_anonymous)
      values (${id}, ${email ?? null}, case when ${email_verified} then now() end, ${is_anonymous})
      on conflict (id) do update
      set email = excluded.email, email_verified_at = excluded.email_verified_at, is_anonymous = excluded.is_anonymous`)
  }
}

/**
 * Returns statements that reset the sequences, so that ids are the same in each case. A rolled back transaction
 * does not return sequence numbers.
 */
async function statementOfSequences(queryable: Queryable): Promise<string[]> {
  const { resets } = await queryable.one<{ resets: string | null }>(sql`
    select 'select ' || string_agg(
      format('setval(%L::regclass, %s, %L)', format('%I.%I', schemaname, sequencename),
        coalesce(last_value, start_value), last_value is not null), ', ') as resets
    from pg_sequences where schemaname <> 'basalt'`)
  return resets === null ? [] : [resets]
}

/** Tries a script. @throws OperatorError with the position of the failure */
async function tryScript(
  { aside }: Database,
  { name }: CaseFile,
  statements: ReturnType<typeof splitStatements>,
): Promise<void> {
  const connection = await aside.open()
  try {
    await aside.transaction(connection, async () => {
      for (const each of statements) await runStatement(connection, each)
      throw new Undone()
    })
  } catch (error) {
    if (error instanceof ScriptFailure) {
      throw new OperatorError(`${name}: setup, line ${error.line}: ${error.message}`, { cause: error })
    }
    if (!(error instanceof Undone)) throw error
  } finally {
    await connection.close()
  }
}

class Undone extends Error {}
