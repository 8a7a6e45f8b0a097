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

describe('GET /collections/:table?sort by a column of a related record › SQL', () => {
  test('joins the related row', async () => {
    expect(
      await compiled('GET /collections/task?fields=id&skipTotal=true&sort=-project.owner.name,project.name'),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            left join "public"."project" "t.0" on "t.0"."id" = "t"."project_id"
            left join "public"."person" "t.0.0" on "t.0.0"."id" = "t.0"."owner_id"
            order by "t.0.0"."name" desc, "t.0"."name", "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('compares the related value with that of a cursor', async () => {
    const cursor = Buffer.from('{"v":["Garden","7"],"k":["project.name","id"]}').toString('base64url')
    expect(await compiled(`GET /collections/task?fields=id&sort=project.name&cursor=${cursor}`)).toEqual({
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
                json_build_object('key', 'project.name', 'value', "t.0"."name"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "cursor"
            from "public"."task" "t"
            left join "public"."project" "t.0" on "t.0"."id" = "t"."project_id"
            where (
              (("t.0"."name" > $1 or "t.0"."name" is null))
              or ("t.0"."name" = $2 and "t"."id" > $3)
            )
            order by "t.0"."name", "t"."id"
            limit 21
          ) "t"
        ) r`,
      parameters: ['Garden', 'Garden', '7'],
    })
  })
})
