import { allOf } from '../../../database/conditions.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, described, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Number of rows per step of a time range. */
export const Histogram = component(
  'Histogram',
  Type.Object({
    from: timestamp,
    to: described('Exclusive end.', timestamp),
    isEstimated: Type.Boolean({
      description:
        'True if a filter without an index is applied to the newest 1,000 rows of each step. Also true if the range has more than 100,000 errors or selected entries: the others are not counted.',
    }),
    items: Type.Array(
      Type.Object({
        timestamp: described('Start of the step.', timestamp),
        count: Type.Number({ description: 'At most 20,000, unless the filter selects errors.' }),
        errors: Type.Number({
          description: 'Entries from `error` on, or responses with status 500 and above.',
        }),
      }),
    ),
  }),
)
type Histogram = Answered<typeof Histogram>

/** Rows to count, as `found (time, …)`. */
export interface HistogramSource {
  readonly rows: Sql
  /** Conditions that an index serves, apart from the time. */
  readonly indexed: readonly (Sql | undefined)[]
  /** Condition without an index. */
  readonly filter: Sql | undefined
  readonly isError: Sql
  /** True if the indexed conditions select few rows, such as errors. */
  readonly isSelective: boolean
}

const steps = 60
/** Maximum number of rows that are counted in a step. */
const mostCounted = 20_000
/** Number of rows of a step from which the matches of a filter are estimated. */
const sampleSize = 1000
/** Maximum number of selected rows, such as errors, in the whole range. */
const mostSelected = 100_000

/**
 * Counts the rows of a time range in steps of equal length. The work is bounded: each step counts a number of rows by the index of
 * the time, or estimates the matches of a filter from its newest rows. Errors are read by their own index.
 */
export async function countByTime(
  database: Queryable,
  { rows, indexed, filter, isError, isSelective }: HistogramSource,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<Histogram> {
  const seconds = (to.getTime() - from.getTime()) / 1000 / steps
  const length = sql`make_interval(secs => ${seconds}::float8)`
  const found = (...conditions: Sql[]) =>
    sql`from (${rows}) found where ${allOf([...indexed, ...conditions])}`
  const isInStep = sql`time >= step.at and time < step.at + ${length}`
  const isInRange = sql`time >= ${from}::timestamptz and time < ${to}::timestamptz`
  const selected = (...conditions: Sql[]) => sql`
    select least(floor(extract(epoch from time - ${from}::timestamptz) / ${seconds}::float8), ${steps - 1}::int) as number,
      count(*)::float8 as seen, count(*) filter (where ${filter ?? sql`true`})::float8 as matches
    from (select * ${found(isInRange, ...conditions)} limit ${mostSelected + 1}::int) found
    group by 1`
  const counted = sql`select count(*)::float8 as counted from (select ${found(isInStep)} limit ${mostCounted}::int) counted`
  const isSampled = filter !== undefined && !isSelective
  const rowsOfSteps = await database.many<Histogram['items'][number] & { readonly isCut?: boolean }>(
    isSampled
      ? sql`
        select step.at as timestamp, ${scaled(sql`matches`)} as count, ${scaled(sql`errors`)} as errors
        from ${stepsOf(from, length)}
        cross join lateral (
          select count(*) as size, count(*) filter (where ${filter}) as matches,
            count(*) filter (where ${filter} and ${isError}) as errors
          from (select * ${found(isInStep)} order by time desc limit ${sampleSize}::int) found
        ) sample
        cross join lateral (${counted}) total
        order by step.at`
      : sql`
        with errors as materialized (${selected(isError)}),
          matches as materialized (${isSelective ? selected() : sql`select 0 as number, 0 as seen, 0 as matches where false`})
        select step.at as timestamp, ${isSelective ? sql`coalesce(matches.matches, 0)` : sql`(${counted})`} as count,
          coalesce(errors.matches, 0) as errors,
          ${mostSelected}::int < greatest((select sum(seen) from errors), (select sum(seen) from matches)) as "isCut"
        from ${stepsOf(from, length)}
        left join errors on errors.number = step.number
        left join matches on matches.number = step.number
        order by step.at`,
  )
  const isEstimated = isSampled || rowsOfSteps.some(({ isCut }) => isCut === true)
  return { from, to, isEstimated, items: rowsOfSteps.map(({ isCut, ...item }) => item) }
}

const stepsOf = (from: Date, length: Sql) => sql`(
  select number, ${from}::timestamptz + number * ${length} as at from generate_series(0, ${steps - 1}::int) number
) step`

/** Returns the share of the sample, of all rows of the step. A step with few rows is the sample itself. */
const scaled = (matches: Sql) =>
  sql`case when size < ${sampleSize}::int then ${matches}::float8 else round(${matches} * counted / size) end`
