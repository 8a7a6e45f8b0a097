import { describe, expect, test } from 'vitest'
import { compiled, compiledAll, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?page › SQL', () => {
  test('counts the page itself, and the table only if the page is full', async () => {
    expect(await compiled('GET /collections/task?fields=id')).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.*), '[]'),
          case when count(*) < 20 then count(*) else (select count(*) from "public"."task" "t") end
        from (
          select "t"."id" from (select "t"."id" from "public"."task" "t" order by "t"."id" limit 20) "t"
        ) r`,
      parameters: [],
    })
  })

  test('adds the rows before a later page', async () => {
    expect(await compiled('GET /collections/task?fields=id&page=3&perPage=10')).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.*), '[]'),
          case
            when count(*) > 0 and count(*) < 10 then count(*) + $1::bigint
            else (select count(*) from "public"."task" "t")
          end
        from (
          select "t"."id"
          from (select "t"."id" from "public"."task" "t" order by "t"."id" limit 10 offset $2) "t"
        ) r`,
      parameters: ['20', '20'],
    })
  })

  test('counts under the conditions of the page', async () => {
    expect(await compiled('GET /collections/task?fields=id&filter=done = true')).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.*), '[]'),
          case
            when count(*) < 20 then count(*)
            else (select count(*) from "public"."task" "t" where "t"."done" = $1)
          end
        from (
          select "t"."id"
          from (
            select "t"."id" from "public"."task" "t" where "t"."done" = $2 order by "t"."id" limit 20
          ) "t"
        ) r`,
      parameters: ['true', 'true'],
    })
  })

  test('does not count with skipTotal', async () => {
    expect(await compiled('GET /collections/task?fields=id&page=3&perPage=10&skipTotal=true')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (select "t"."id" from "public"."task" "t" order by "t"."id" limit 10 offset $1) "t"
        ) r`,
      parameters: ['20'],
    })
  })

  test('reads the estimate of the planner with total=estimated', async () => {
    expect(await compiledAll('GET /collections/task?fields=id&total=estimated&filter=done = true')).toEqual([
      {
        sql: sql`
          select coalesce(json_agg(r.*), '[]')
          from (
            select "t"."id"
            from (
              select "t"."id" from "public"."task" "t" where "t"."done" = $1 order by "t"."id" limit 20
            ) "t"
          ) r`,
        parameters: ['true'],
      },
      {
        sql: sql`
          explain (format json)
          select
          from "public"."task" "t"
          where "t"."done" = $1`,
        parameters: ['true'],
      },
    ])
  })
})
