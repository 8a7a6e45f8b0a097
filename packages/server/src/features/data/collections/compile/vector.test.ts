import { describe, expect, test } from 'vitest'
import { compiled, compiledAll, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?nearest › SQL', () => {
  test('sorts the rows without an index, those with vectors of the same length', async () => {
    expect(await compiled('GET /collections/sketch?fields=id&nearest=[1,2,3]&perPage=5')).toEqual({
      sql: sql`
        with
          query as materialized (select $1::"public"."vector" as value),
          "nearest" as materialized (
            select "t"."id", "t"."look" operator("public".<=>) (select value from query) as "_distance"
            from "public"."sketch" "t"
            where "t"."look" is not null
              and "public"."vector_dims"("t"."look") = "public"."vector_dims"((select value from query))
            order by "t"."look" operator("public".<=>) (select value from query)
            limit 5
          )
        select
          coalesce(
            json_agg(
              (select row_to_json(s.*) from (select "t"."id", "t"."_distance") s)
              order by "t"."_distance", "t"."id"
            ),
            '[]'
          ),
          count(*)
        from nearest "t"
        -- The direction of zeros cannot be compared.
        where "t"."_distance" <> 'NaN'`,
      parameters: ['[1,2,3]'],
    })
  })

  test('reads rows by the index, and sorts the others only if it has found too few', async () => {
    const request =
      "GET /collections/photo?fields=id&nearest=[1,2,3]&distance=l2&perPage=5&filter=shot_at > '2026-01-01'"
    expect(await compiledAll(request)).toEqual([
      {
        sql: sql`
          select
            set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('ivfflat.iterative_scan', 'relaxed_order', true)`,
        parameters: [],
      },
      {
        sql: sql`
          with
            query as materialized (select $1::"public"."vector" as value),
            approximate as materialized (
              select "t"."id", "t"."look" operator("public".<->) (select value from query) as "_distance"
              from "public"."photo" "t"
              where "t"."shot_at" > $2 and "t"."look" is not null
              order by "t"."look" operator("public".<->) (select value from query)
              limit 5
            ),
            exact as materialized (
              select "t"."id", "t"."look" operator("public".<->) (select value from query) as "_distance"
              from "public"."photo" "t"
              where "t"."shot_at" > $3 and "t"."look" is not null
              order by ("t"."look" operator("public".<->) (select value from query)) + 0
              limit 5
            ),
            "nearest" as (
              select * from approximate where (select count(*) from approximate) = 5
              union all
              select * from exact where not ((select count(*) from approximate) = 5)
            )
          select
            coalesce(
              json_agg(
                (select row_to_json(s.*) from (select "t"."id", "t"."_distance") s)
                order by "t"."_distance", "t"."id"
              ),
              '[]'
            ),
            count(*)
          from nearest "t"
          -- The direction of zeros cannot be compared.
          where "t"."_distance" <> 'NaN'`,
        parameters: ['[1,2,3]', '2026-01-01', '2026-01-01'],
      },
    ])
  })

  test('gives a large page as many candidates, and never fewer than the operator', async () => {
    const [settings] = await compiledAll('GET /collections/photo?nearest=[1,2,3]&perPage=500')
    expect(settings).toEqual({
      sql: sql`
        select
          set_config('hnsw.iterative_scan', 'relaxed_order', true),
          set_config('ivfflat.iterative_scan', 'relaxed_order', true),
          set_config(
            'hnsw.ef_search',
            greatest(nullif(current_setting('hnsw.ef_search', true), '')::int, 500)::text,
            true
          )`,
      parameters: [],
    })
  })

  test('changes no settings for a pgvector without iterative scans', async () => {
    const request = 'GET /collections/photo?fields=id&nearest=[1,2,3]&perPage=5'
    const [, statement] = await compiledAll(request)
    expect(await compiledAll(request, undefined, { vector: '0.7.4' })).toEqual([statement])
    expect(await compiledAll(`${request}00`, undefined, { vector: '0.7.4' })).toHaveLength(1)
  })
})
