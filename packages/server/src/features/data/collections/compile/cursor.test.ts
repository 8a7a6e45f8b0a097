import { describe, expect, test } from 'vitest'
import { formatCursor } from '../parse/cursor.ts'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?cursor › SQL', () => {
  test('returns the first page and the keys of its last row', async () => {
    expect(await compiled('GET /collections/task?fields=id&sort=title&cursor=')).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(
                json_build_object('key', 'title', 'value', "t"."title"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            order by "t"."title", "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('continues after the last row by all keys', async () => {
    const cursor = formatCursor([
      { key: 'title', value: 'Paint' },
      { key: 'id', value: '7' },
    ])
    expect(await compiled(`GET /collections/task?fields=id&sort=title&cursor=${cursor}`)).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(
                json_build_object('key', 'title', 'value', "t"."title"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            where "t"."title" >= $1 and (("t"."title" > $2) or ("t"."title" = $3 and "t"."id" > $4))
            order by "t"."title", "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['Paint', 'Paint', 'Paint', '7'],
    })
  })

  test('continues downwards', async () => {
    const cursor = formatCursor([
      { key: '-title', value: 'Paint' },
      { key: 'id', value: '7' },
    ])
    expect(await compiled(`GET /collections/task?fields=id&sort=-title&cursor=${cursor}`)).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(
                json_build_object('key', '-title', 'value', "t"."title"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            where "t"."title" <= $1 and (("t"."title" < $2) or ("t"."title" = $3 and "t"."id" > $4))
            order by "t"."title" desc, "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['Paint', 'Paint', 'Paint', '7'],
    })
  })

  test('includes NULLs, which come last ascending', async () => {
    const cursor = formatCursor([
      { key: 'due', value: '2026-01-31' },
      { key: 'id', value: '7' },
    ])
    expect(await compiled(`GET /collections/task?fields=id&sort=due&cursor=${cursor}`)).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(
                json_build_object('key', 'due', 'value', "t"."due"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            where ((("t"."due" > $1 or "t"."due" is null)) or ("t"."due" = $2 and "t"."id" > $3))
            order by "t"."due", "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['2026-01-31', '2026-01-31', '7'],
    })
  })

  test('continues among the NULLs', async () => {
    const cursor = formatCursor([
      { key: 'due', value: null },
      { key: 'id', value: '7' },
    ])
    expect(await compiled(`GET /collections/task?fields=id&sort=due&cursor=${cursor}`)).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(
                json_build_object('key', 'due', 'value', "t"."due"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            where (("t"."due" is null and "t"."id" > $1))
            order by "t"."due", "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['7'],
    })
  })

  test('continues after the NULLs, which come first descending', async () => {
    const cursor = formatCursor([
      { key: '-due', value: null },
      { key: 'id', value: '7' },
    ])
    expect(await compiled(`GET /collections/task?fields=id&sort=-due&cursor=${cursor}`)).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(
                json_build_object('key', '-due', 'value', "t"."due"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            where (("t"."due" is not null) or ("t"."due" is null and "t"."id" > $1))
            order by "t"."due" desc, "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['7'],
    })
  })

  test('continues within a filter', async () => {
    const cursor = formatCursor([{ key: 'id', value: '7' }])
    expect(await compiled(`GET /collections/task?fields=id&filter=done = false&cursor=${cursor}`)).toEqual({
      sql: sql`
        select
          coalesce(json_agg(r.record) filter (where r.ordinal <= 20), '[]'),
          case when count(*) > 20 then (array_agg(r.cursor))[20] end
        from (
          select
            (select row_to_json(s.*) from (select "t"."id") s) as record,
            "t"."cursor" as cursor,
            row_number() over () as ordinal
          from (
            select
              "t"."id",
              json_build_array(json_build_object('key', 'id', 'value', "t"."id"::text)) as "cursor"
            from "public"."task" "t"
            where "t"."done" = $1 and "t"."id" >= $2 and (("t"."id" > $3))
            order by "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['false', '7', '7'],
    })
  })
})
