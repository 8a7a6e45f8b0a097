import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?aggregate › SQL', () => {
  test('counts rows', async () => {
    expect(await compiled('GET /collections/vote?aggregate=count')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.result) filter (where r.ordinal <= 50), '[]'), count(*) <= 50
        from (
          select json_build_object('count', "g"."result 0") as result, row_number() over () as ordinal
          from (select count(*) as "result 0" from "public"."vote" "t") "g"
        ) r`,
      parameters: [],
    })
  })

  test('computes several functions in one scan', async () => {
    expect(
      await compiled(
        'GET /collections/vote?aggregate=sum(points),avg(points),min(cast_at),count_distinct(person_id)',
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.result) filter (where r.ordinal <= 50), '[]'), count(*) <= 50
        from (
          select
            json_build_object(
              'sum_points',
              "g"."result 0",
              'avg_points',
              "g"."result 1",
              'min_cast_at',
              "g"."result 2",
              'count_distinct_person_id',
              "g"."result 3"
            ) as result,
            row_number() over () as ordinal
          from (
            select
              sum("t"."points") as "result 0",
              avg("t"."points") as "result 1",
              min("t"."cast_at") as "result 2",
              count(distinct "t"."person_id") as "result 3"
            from "public"."vote" "t"
          ) "g"
        ) r`,
      parameters: [],
    })
  })

  test('reads the rows of the filter', async () => {
    expect(await compiled('GET /collections/task?aggregate=count,max(due)&filter=done = false')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.result) filter (where r.ordinal <= 50), '[]'), count(*) <= 50
        from (
          select
            json_build_object('count', "g"."result 0", 'max_due', "g"."result 1") as result,
            row_number() over () as ordinal
          from (
            select count(*) as "result 0", max("t"."due") as "result 1"
            from "public"."task" "t"
            where "t"."done" = $1
          ) "g"
        ) r`,
      parameters: ['false'],
    })
  })

  test('groups by a column, in its order', async () => {
    expect(await compiled('GET /collections/vote?aggregate=count&group=person_id')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.result) filter (where r.ordinal <= 50), '[]'), count(*) <= 50
        from (
          select
            json_build_object('person_id', "g"."group 0", 'count', "g"."result 0") as result,
            row_number() over () as ordinal
          from (
            select "t"."person_id" as "group 0", count(*) as "result 0"
            from "public"."vote" "t"
            group by "t"."person_id"
            order by "group 0"
            limit 51
          ) "g"
        ) r`,
      parameters: [],
    })
  })

  test('sorts and limits groups, and reports when there are more', async () => {
    expect(
      await compiled(
        'GET /collections/vote?aggregate=sum(points)&group=task_id,person_id&groupSort=-sum_points&groupLimit=3',
      ),
    ).toEqual({
      sql: sql`
        select coalesce(json_agg(r.result) filter (where r.ordinal <= 3), '[]'), count(*) <= 3
        from (
          select
            json_build_object(
              'task_id', "g"."group 0", 'person_id', "g"."group 1", 'sum_points', "g"."result 0"
            ) as result,
            row_number() over () as ordinal
          from (
            select
              "t"."task_id" as "group 0",
              "t"."person_id" as "group 1",
              sum("t"."points") as "result 0"
            from "public"."vote" "t"
            group by "t"."task_id", "t"."person_id"
            order by "result 0" desc, "group 0", "group 1"
            limit 4
          ) "g"
        ) r`,
      parameters: [],
    })
  })
})
