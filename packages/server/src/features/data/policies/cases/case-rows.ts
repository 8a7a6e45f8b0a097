import type { Catalog, Column, ForeignKey, Relation } from '../../../../database/catalog/model.ts'
import { quoteLiteral, quoteName, type Sql, sql } from '../../../../database/sql.ts'
import { compileComparison, relationName } from '../../collections/index.ts'
import type { PolicyRead } from '../evaluation/policy-reads.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { type Rehearsal, toCall } from '../rehearsal/rehearsal.ts'

type Values = ReadonlyMap<string, string | null>

/**
 * Rows at the beginning of a case: its subjects, the targets of their keys, and the caller's rows that policies read.
 */
export interface CaseRows {
  /** Insert statements in an order in which each row refers only to earlier ones. */
  readonly statements: readonly string[]
  /** Ids of users that the rows refer to. */
  readonly users: ReadonlySet<string>
  /** Tables that the rows refer to and that are not in the API. */
  readonly missing: ReadonlySet<string>
}

/** Maximum number of rows of a table that policies read; more would hide the subject of the case. */
const readLimit = 20
const rowLimit = 200

/** Collector of rows. Each row comes once, after the rows that it refers to. */
export class CaseRowCollector {
  readonly #rehearsal: Rehearsal
  readonly #catalog: Catalog
  readonly #seen = new Set<string>()
  readonly #statements: string[] = []
  readonly #users = new Set<string>()
  readonly #missing = new Set<string>()

  constructor(rehearsal: Rehearsal, catalog: Catalog) {
    this.#rehearsal = rehearsal
    this.#catalog = catalog
  }

  get collected(): CaseRows {
    return { statements: this.#statements, users: this.#users, missing: this.#missing }
  }

  /** Adds the rows for which the condition holds. */
  async add(relation: Relation, condition: Sql, limit = readLimit): Promise<Values[]> {
    const columns = relation.columns.filter(({ isGenerated }) => !isGenerated)
    const { rows } = await this.#rehearsal.attemptPastPolicies(
      toCall(sql`
        select ${sql.join(columns.map(({ name }) => sql`${sql.id('case', name)}::text`))}
        from ${relationName(relation)} "case"
        where ${condition}
        limit ${sql.integer(limit)}`),
    )
    const found = rows.map((row) => new Map(columns.map(({ name }, index) => [name, row[index] ?? null])))
    for (const values of found) await this.#take(relation, values)
    return found
  }

  /** Adds the rows that a row refers to and that do not exist yet. */
  async addReferences(relation: Relation, values: Values): Promise<void> {
    for (const key of relation.foreignKeys) await this.#addReferenced(key, values)
  }

  /**
   * Adds rows of a table that a policy reads: rows with the caller's id, and rows with a key to the subjects of the
   * case.
   */
  async addRead(
    { schema, name }: Pick<PolicyRead, 'schema' | 'name'>,
    { scope }: ExaminedCaller,
    subject: Relation,
    subjects: readonly Values[],
  ): Promise<void> {
    const relation = findRelation(this.#catalog, schema, name)
    if (relation === undefined) {
      if (schema !== 'basalt') this.#missing.add(`${schema}.${name}`)
      return
    }
    const names = scope.kind === 'caller' ? [scope.userId, scope.email].filter((text) => text !== '') : []
    const naming = relation.columns.flatMap((column) =>
      names.flatMap((text) => (canName(column, text) ? [equals(column, text)] : [])),
    )
    const referring = relation.foreignKeys
      .filter((key) => key.referencedSchema === subject.schema && key.referencedTable === subject.name)
      .flatMap((key) => subjects.flatMap((values) => referringTo(relation, key, values) ?? []))
    const conditions = [...naming, ...referring]
    if (conditions.length > 0) await this.add(relation, sql`(${sql.join(conditions, sql` or `)})`)
  }

  async #take(relation: Relation, values: Values): Promise<void> {
    const identity = `${relation.collection} ${JSON.stringify([...values])}`
    if (this.#seen.has(identity) || this.#seen.size >= rowLimit) return
    this.#seen.add(identity)
    await this.addReferences(relation, values)
    this.#statements.push(renderInsert(relation, values))
  }

  async #addReferenced(key: ForeignKey, values: Values): Promise<void> {
    const pairs = key.columns.map(
      (name, index) => [key.referencedColumns[index] ?? '', values.get(name) ?? null] as const,
    )
    if (pairs.some(([, value]) => value === null)) return
    if (key.referencedSchema === 'basalt' && key.referencedTable === 'users') {
      for (const [, value] of pairs) if (value !== null) this.#users.add(value)
      return
    }
    const target = findRelation(this.#catalog, key.referencedSchema, key.referencedTable)
    if (target === undefined) {
      this.#missing.add(`${key.referencedSchema}.${key.referencedTable}`)
      return
    }
    const conditions = pairs.flatMap(([name, value]) => {
      const column = target.column.get(name)
      return column === undefined || value === null ? [] : [equals(column, value)]
    })
    if (conditions.length > 0) await this.add(target, sql.join(conditions, sql` and `), 1)
  }
}

function findRelation({ relations }: Catalog, schema: string, name: string): Relation | undefined {
  return relations.get(schema === 'public' ? name : `${schema}.${name}`)
}

function equals({ name, type }: Column, value: string): Sql {
  return compileComparison(type, sql.id('case', name), '=', sql`${value}`)
}

function canName({ type }: Column, text: string): boolean {
  return type.isText || (type.base === 'uuid' && /^[0-9a-f-]{36}$/.test(text))
}

function referringTo(relation: Relation, key: ForeignKey, values: Values): Sql | undefined {
  const parts = key.columns.flatMap((name, index) => {
    const column = relation.column.get(name)
    const value = values.get(key.referencedColumns[index] ?? '') ?? null
    return column === undefined || value === null ? [] : [equals(column, value)]
  })
  return parts.length === key.columns.length ? sql`(${sql.join(parts, sql` and `)})` : undefined
}

/** Renders an insert. The values are texts, which PostgreSQL converts to the types of their columns. */
function renderInsert({ schema, name, columns }: Relation, values: Values): string {
  const present = [...values].filter(([, value]) => value !== null)
  const target = schema === 'public' ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`
  const overriding = columns.some(({ identity }) => identity === 'always') ? 'overriding system value ' : ''
  if (present.length === 0) return `insert into ${target} default values;`
  const names = present.map(([column]) => quoteName(column)).join(', ')
  const texts = present.map(([, value]) => quoteLiteral(value ?? '').trim()).join(', ')
  return `insert into ${target} (${names}) ${overriding}values (${texts});`
}
