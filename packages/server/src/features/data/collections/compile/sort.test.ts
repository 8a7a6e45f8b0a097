import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?sort › SQL', () => {
  test('sorts by the primary key by default', async () => {
    expect(await compiled('GET /collections/task?fields=id&skipTotal=true')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id" from (select "t"."id" from "public"."task" "t" order by "t"."id" limit 20) "t"
        ) r`,
      parameters: [],
    })
  })

  test('appends the primary key, so that the order is total', async () => {
    expect(await compiled('GET /collections/task?fields=id&skipTotal=true&sort=-due,title')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            order by "t"."due" desc, "t"."title", "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('keeps the direction of a primary key that is named', async () => {
    expect(await compiled('GET /collections/task?fields=id&skipTotal=true&sort=done,-id,title')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            order by "t"."done", "t"."id" desc, "t"."title"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('appends every column of a composite key', async () => {
    expect(await compiled('GET /collections/vote?fields=points&skipTotal=true&sort=-points')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."points"
          from (
            select "t"."points"
            from "public"."vote" "t"
            order by "t"."points" desc, "t"."task_id", "t"."person_id"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('reads a table without a key in stored order', async () => {
    expect(await compiled('GET /collections/log?skipTotal=true')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."at", "t"."line"
          from (
            select "t"."at", "t"."line"
            from "public"."log" "t"
            order by "t"."tableoid", "t"."ctid"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('appends the stored position without a key', async () => {
    expect(await compiled('GET /collections/log?skipTotal=true&sort=-at')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."at", "t"."line"
          from (
            select "t"."at", "t"."line"
            from "public"."log" "t"
            order by "t"."at" desc, "t"."tableoid", "t"."ctid"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })
})
