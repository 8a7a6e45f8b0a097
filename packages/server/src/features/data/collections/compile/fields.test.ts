import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?fields › SQL', () => {
  test('reads every column without fields', async () => {
    expect(await compiled('GET /collections/task/7')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id")::text, 0))
        from "public"."task" "t", lateral (select "t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id") r
        where "t"."id" = $1`,
      parameters: ['7'],
    })
  })

  test('reads the named columns', async () => {
    expect(await compiled('GET /collections/task/7?fields=title,done')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id")::text, 0))
        from "public"."task" "t", lateral (select "t"."title", "t"."done") r
        where "t"."id" = $1`,
      parameters: ['7'],
    })
  })

  test('reads a column that is named twice only once', async () => {
    expect(await compiled('GET /collections/task/7?fields=title,done,title')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id")::text, 0))
        from "public"."task" "t", lateral (select "t"."title", "t"."done") r
        where "t"."id" = $1`,
      parameters: ['7'],
    })
  })

  test('sorts by a column that is not returned', async () => {
    expect(await compiled('GET /collections/task?fields=title&sort=-due&skipTotal=true')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."title"
          from (
            select "t"."title" from "public"."task" "t" order by "t"."due" desc, "t"."id" limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('finds a record by each value of a composite key', async () => {
    expect(await compiled('GET /collections/vote/7,3?fields=points')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."task_id", "t"."person_id", "t"."points", "t"."cast_at")::text, 0))
        from "public"."vote" "t", lateral (select "t"."points") r
        where "t"."task_id" = $1 and "t"."person_id" = $2`,
      parameters: ['7', '3'],
    })
  })
})
