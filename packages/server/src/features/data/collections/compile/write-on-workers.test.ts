import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('writes of a distributed table › SQL', () => {
  test('PATCH converts the body before the update', async () => {
    expect(await compiled('PATCH /collections/parcel/1,7', { label: 'Box' })).toEqual({
      sql: sql`
        with b as materialized (
          select "b"."label" as "label" from json_to_record($1::json) as b ("label" text)
        ),
        w as (
          update "public"."parcel" as "t"
          set "label" = "b"."label"
          from b
          where "t"."org_id" = $2 and "t"."id" = $3
          returning "t"."org_id", "t"."id", "t"."label", "t"."docs"
        )
        select
          r.record,
          case when r.record is null then ('missing … ' || coalesce(r.record::text, '0'))::int end
        from (select 1 from pg_catalog.pg_am limit 1) one
        left join (
          select (
              select row_to_json(s.*) from (select "t"."org_id", "t"."id", "t"."label", "t"."docs") s
            ) as record
          from w "t"
          offset 0
        ) r on true
        limit 1`,
      parameters: ['{"label":"Box"}', '1', '7'],
    })
  })

  test('DELETE returns nothing of the record', async () => {
    expect(await compiled('DELETE /collections/parcel/1,7')).toEqual({
      sql: sql`
        with w as (
          delete from "public"."parcel" as "t"
          where "t"."org_id" = $1 and "t"."id" = $2
          returning 1
        )
        select
          r.record,
          case when r.record is null then ('missing … ' || coalesce(r.record::text, '0'))::int end
        from (select 1 from pg_catalog.pg_am limit 1) one
        left join (select 'null'::json as record from w "t" offset 0) r on true
        limit 1`,
      parameters: ['1', '7'],
    })
  })
})
