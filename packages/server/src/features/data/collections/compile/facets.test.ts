import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?facets › SQL', () => {
  test('counts the values of a column', async () => {
    expect(await compiled('GET /collections/task?fields=id&skipTotal=true&facets=done')).toEqual({
      sql: sql`
        with "scope 0" as (
          select "t"."done" as "value 0", grouping("t"."done") as "set", count(*) as "count"
          from "public"."task" "t"
          group by grouping sets (("t"."done"))
        )
        select
          coalesce(json_agg(r.*), '[]'),
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (
            select count(*) <= 100
            from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
          ),
          null
        from (
          select "t"."id" from (select "t"."id" from "public"."task" "t" order by "t"."id" limit 20) "t"
        ) r`,
      parameters: [],
    })
  })

  test('counts several columns by one read of the rows', async () => {
    expect(
      await compiled("GET /collections/task?fields=id&skipTotal=true&facets=done,due&filter=title ~ 'P%'"),
    ).toEqual({
      sql: sql`
        with "scope 0" as (
          select
            "t"."done" as "value 0",
            "t"."due" as "value 1",
            grouping("t"."done", "t"."due") as "set",
            count(*) as "count"
          from "public"."task" "t"
          where "t"."title" like $1
          group by grouping sets (("t"."done"), ("t"."due"))
        )
        select
          coalesce(json_agg(r.*), '[]'),
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from (select "value 0" as value, "count" from "scope 0" where "set" = 1) "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (
            select count(*) <= 100
            from (select "value 0" as value, "count" from "scope 0" where "set" = 1) "f"
          ),
          null,
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from (select "value 1" as value, "count" from "scope 0" where "set" = 2) "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (
            select count(*) <= 100
            from (select "value 1" as value, "count" from "scope 0" where "set" = 2) "f"
          ),
          null
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where "t"."title" like $2
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['P%', 'P%'],
    })
  })

  test('adds the extremes of a numeric column', async () => {
    expect(await compiled('GET /collections/vote?fields=points&skipTotal=true&facets=points')).toEqual({
      sql: sql`
        with "scope 0" as (
          select "t"."points" as "value 0", grouping("t"."points") as "set", count(*) as "count"
          from "public"."vote" "t"
          group by grouping sets (("t"."points"))
        )
        select
          coalesce(json_agg(r.*), '[]'),
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (
            select count(*) <= 100
            from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
          ),
          (
            select row_to_json(s.*)
            from (
              select min("f"."value") as min, max("f"."value") as max
              from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
            ) s
            where s.min is not null
          )
        from (
          select "t"."points"
          from (
            select "t"."points"
            from "public"."vote" "t"
            order by "t"."task_id", "t"."person_id"
            limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })

  test('counts a disjunctive facet without the filter on its own column', async () => {
    expect(
      await compiled(
        "GET /collections/task?fields=id&skipTotal=true&disjunctiveFacets=done&facets=done,due&filter=done = true AND title ~ 'P%'",
      ),
    ).toEqual({
      sql: sql`
        with
          "scope 0" as (
            select "t"."done" as "value 0", grouping("t"."done") as "set", count(*) as "count"
            from "public"."task" "t"
            where ("t"."title" like $1)
            group by grouping sets (("t"."done"))
          ),
          "scope 1" as (
            select "t"."due" as "value 0", grouping("t"."due") as "set", count(*) as "count"
            from "public"."task" "t"
            where ("t"."done" = $2 and "t"."title" like $3)
            group by grouping sets (("t"."due"))
          )
        select
          coalesce(json_agg(r.*), '[]'),
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (
            select count(*) <= 100
            from (select "value 0" as value, "count" from "scope 0" where "set" = 0) "f"
          ),
          null,
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from (select "value 0" as value, "count" from "scope 1" where "set" = 0) "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (
            select count(*) <= 100
            from (select "value 0" as value, "count" from "scope 1" where "set" = 0) "f"
          ),
          null
        from (
          select "t"."id"
          from (
            select "t"."id"
            from "public"."task" "t"
            where ("t"."done" = $4 and "t"."title" like $5)
            order by "t"."id"
            limit 20
          ) "t"
        ) r`,
      parameters: ['P%', 'true', 'P%', 'true', 'P%'],
    })
  })
})
