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

  test('PATCH by filter returns the number of records without a function in its returning clause', async () => {
    expect(await compiled('PATCH /collections/parcel?filter=org_id = 1&expect=2', { label: 'Box' })).toEqual({
      sql: sql`
        with b as materialized (
          select "b"."label" as "label" from json_to_record($1::json) as b ("label" text)
        ),
        w as (
          update "public"."parcel" as "t"
          set "label" = "b"."label"
          from b
          where ("t"."org_id" = $2)
          returning 1
        )
        select
          c.count,
          c.answers,
          case when c.count <> $3::bigint then ('unexpected count … ' || c.count)::int end
        from (select 1 from pg_catalog.pg_am limit 1) one
        cross join (
          select count(*) filter (where x.excess is null) as count, null as answers
          from (
            select
              case when row_number() over () > 1000 then ('unexpected count … ' || row_number() over ())::int end as excess
            from w "t"
          ) x
        ) c`,
      parameters: ['{"label":"Box"}', '1', '2'],
    })
  })

  test('POST with onConflict distinguishes an update by xmax', async () => {
    const body = { org_id: 1, id: 7, label: 'Box' }
    expect(await compiled('POST /collections/parcel?onConflict=org_id,id', body)).toMatchObject({
      sql: sql`
        with w as (
          insert into "public"."parcel" as "t" ("org_id", "id", "label")
          select "b"."org_id", "b"."id", "b"."label"
          from json_to_record($1::json) as b ("org_id" integer, "id" integer, "label" text)
          on conflict ("org_id", "id") do update set "label" = "excluded"."label"
          returning "t"."org_id", "t"."id", "t"."label", "t"."docs", "t"."xmax" = 0 as "basalt inserted"
        )
        select r.answer, r.created
        from (select 1 from pg_catalog.pg_am limit 1) one
        join (
          select
            (select row_to_json(s.*) from (select "t"."org_id", "t"."id", "t"."label", "t"."docs") s) as answer,
            "t"."basalt inserted" as created
          from w "t"
          offset 0
        ) r on true`,
    })
  })
})
