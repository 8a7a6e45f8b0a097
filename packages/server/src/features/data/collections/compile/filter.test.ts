import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?filter › SQL', () => {
  test('compares a column with a parameter of its type', async () => {
    expect(await compiled('GET /collections/task?fields=id&skipTotal=true&filter=done = false')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id" from "public"."task" "t" where "t"."done" = $1 order by "t"."id" limit 20
          ) "t"
        ) r`,
      parameters: ['false'],
    })
  })

  test('compares by order', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=due >= '2026-01-01' AND due < '2026-02-01'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."due" >= $1 and "t"."due" < $2)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['2026-01-01', '2026-02-01'],
    })
  })

  test('groups AND within OR', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=done = true OR title = 'Paint' AND due > '2026-01-01'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."done" = $1 or ("t"."title" = $2 and "t"."due" > $3))
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['true', 'Paint', '2026-01-01'],
    })
  })

  test('negates a group', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=NOT (done = true OR title = 'Paint')",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where not (("t"."done" = $1 or "t"."title" = $2))
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['true', 'Paint'],
    })
  })

  test('tests for NULL', async () => {
    expect(
      await compiled('GET /collections/task?fields=id&skipTotal=true&filter=due = null OR due != null'),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."due" is null or "t"."due" is not null)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('matches patterns', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=title ~ 'Pa%' AND title !~* '%draft%'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."title" like $1 and "t"."title" not ilike $2)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['Pa%', '%draft%'],
    })
  })

  test('binds a list as one array', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=id IN (1, 2, 3) AND title NOT IN ('a', 'b')",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."id" = any ($1) and not ("t"."title" = any ($2)))
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['{"1","2","3"}', '{"a","b"}'],
    })
  })

  test('tests both ends of BETWEEN', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=due BETWEEN '2026-01-01' AND '2026-01-31'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."due" >= $1 and "t"."due" <= $2)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['2026-01-01', '2026-01-31'],
    })
  })

  test('follows a relation by exists', async () => {
    expect(
      await compiled("GET /collections/task?fields=id&skipTotal=true&filter=project.name = 'House'"),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where exists (
              select
              from "public"."project" "tx"
              where "tx"."id" = "t"."project_id" and "tx"."name" = $1
            )
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['House'],
    })
  })

  test('follows each condition on a relation by an exists of its own', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&filter=project.name = 'House' AND project.owner.name = 'Ada'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where (
              exists (
                select
                from "public"."project" "tx"
                where "tx"."id" = "t"."project_id" and "tx"."name" = $1
              )
              and exists (
                select
                from "public"."project" "tx"
                where "tx"."id" = "t"."project_id" and exists (
                  select
                  from "public"."person" "txx"
                  where "txx"."id" = "tx"."owner_id" and "txx"."name" = $2
                )
              )
            )
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['House', 'Ada'],
    })
  })

  test('follows a one-to-many relation', async () => {
    expect(await compiled('GET /collections/task?fields=id&skipTotal=true&filter=vote.points > 3')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where exists (
              select from "public"."vote" "tx" where "tx"."task_id" = "t"."id" and "tx"."points" > $1
            )
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['3'],
    })
  })

  test('compares a JSON number as a number', async () => {
    expect(
      await compiled("GET /collections/note?fields=id&skipTotal=true&filter=details->'size' > 10"),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."note" "t"
            where case
              when jsonb_typeof("t"."details" -> $1::text) = 'number'
                then ("t"."details" -> $2::text)::numeric
            end > $3
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['size', 'size', '10'],
    })
  })

  test('compares a JSON text as text', async () => {
    expect(
      await compiled(
        "GET /collections/note?fields=id&skipTotal=true&filter=details->'author'->>'name' = 'Ada'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."note" "t"
            where ("t"."details" -> $1::text ->> $2::text) = $3
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['author', 'name', 'Ada'],
    })
  })

  test('contains and overlaps elements of an array', async () => {
    expect(
      await compiled(
        "GET /collections/note?fields=id&skipTotal=true&filter=tags CONTAINS ('red', 'blue') OR tags OVERLAPS ('green')",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."note" "t"
            where ("t"."tags" @> $1::text[] or "t"."tags" && $2::text[])
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['{"red","blue"}', '{"green"}'],
    })
  })

  test('contains a value of a range', async () => {
    expect(
      await compiled(
        "GET /collections/note?fields=id&skipTotal=true&filter=pages CONTAINS 7 AND pages ADJACENT '[10,20)'",
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."note" "t"
            where ("t"."pages" @> $1::int4range and "t"."pages" -|- $2::int4range)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['["7","7"]', '[10,20)'],
    })
  })

  test('matches words of a text', async () => {
    expect(
      await compiled("GET /collections/task?fields=id&skipTotal=true&filter=title MATCHES 'paint -fence'"),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where to_tsvector(
              'pg_catalog.english'::regconfig, left("t"."title"::text, 100000)
            ) @@ websearch_to_tsquery('pg_catalog.english'::regconfig, $1)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['paint -fence'],
    })
  })
})
