import { describe, expect, test } from 'vitest'
import { compiled, compiledWithListener, sql } from '../tests/compiled.ts'

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

  test('PATCH by filter with a listener updates the versions that it has read', async () => {
    const query = 'PATCH /collections/parcel?filter=id = 1&expect=2'
    expect(await compiledWithListener(query, { label: 'Box' })).toEqual({
      sql: sql`
        with b as materialized (
          select "b"."label" as "label" from json_to_record($1::json) as b ("label" text)
        ),
        o as materialized (
          select "o"."org_id", "o"."id",
            "o"."xmin" as "basalt old version",
            (select row_to_json(s.*) from (select "o"."org_id", "o"."id", "o"."label", "o"."docs") s) as "basalt old record"
          from "public"."parcel" o
          where "o"."id" = $2
          limit 1001
        ),
        w as (
          update "public"."parcel" as "t"
          set "label" = "b"."label"
          from b, o
          where ("t"."id" = $3) and "t"."org_id" = "o"."org_id" and "t"."id" = "o"."id"
            and "t"."xmin" = "o"."basalt old version"
          returning "t"."org_id", "t"."id", "t"."label", "t"."docs", "o"."basalt old record"
        ),
        v as materialized (
          select "o"."org_id", "o"."id"
          from "public"."parcel" as "t", o
          where "t"."org_id" = "o"."org_id" and "t"."id" = "o"."id" and "t"."xmin" = "o"."basalt old version"
        ),
        s as materialized (
          select count(*) as count
          from o
          where not exists (select from w where "w"."basalt old record"::text = "o"."basalt old record"::text)
            and not exists (select from v where "v"."org_id" = "o"."org_id" and "v"."id" = "o"."id")
        )
        select c.count, c.answers,
          case when (select s.count from s) > 0
            then ('changed meanwhile … ' || c.count)::int
            else case when c.count <> $4::bigint then ('unexpected count … ' || c.count)::int end
          end,
          (set_config('basalt.changed_rows', c.changes::text, true) is null)
        from (select 1 from pg_catalog.pg_am limit 1) one
        cross join (
          select count(*) filter (where x.excess is null) as count, null as answers,
            coalesce(json_agg(json_build_object('record', x.record, 'oldRecord', x.old_record)), '[]') as changes
          from (
            select
              (select row_to_json(s.*) from (select "t"."org_id", "t"."id", "t"."label", "t"."docs") s) as record,
              "t"."basalt old record" as old_record,
              case when row_number() over () > 1000 then ('unexpected count … ' || row_number() over ())::int end as excess
            from w "t"
          ) x
        ) c`,
      parameters: ['{"label":"Box"}', '1', '1', '2'],
    })
  })

  test('POST with onConflict and a listener creates, else updates the version that it has read', async () => {
    const json = '{"org_id":1,"id":7,"label":"Box"}'
    const query = 'POST /collections/parcel?onConflict=org_id,id&fields=id'
    expect(await compiledWithListener(query, JSON.parse(json))).toEqual({
      sql: sql`
        with b as materialized (
          select "b"."org_id" as "org_id", "b"."id" as "id", "b"."label" as "label"
          from json_to_record($1::json) as b ("org_id" integer, "id" integer, "label" text)
        ),
        i as (
          insert into "public"."parcel" as "t" ("org_id", "id", "label")
          select "b"."org_id", "b"."id", "b"."label"
          from json_to_record($2::json) as b ("org_id" integer, "id" integer, "label" text)
          on conflict ("org_id", "id") do nothing
          returning "t"."org_id", "t"."id", "t"."label", "t"."docs"
        ),
        o as materialized (
          select "o"."org_id", "o"."id",
            "o"."xmin" as "basalt old version",
            (select row_to_json(s.*) from (select "o"."org_id", "o"."id", "o"."label", "o"."docs") s) as "basalt old record"
          from "public"."parcel" o, b
          where "o"."org_id" = "b"."org_id" and "o"."id" = "b"."id" and not exists (select from i)
        ),
        u as (
          update "public"."parcel" as "t"
          set "label" = "b"."label"
          from b, o
          where "t"."org_id" = "o"."org_id" and "t"."id" = "o"."id" and "t"."xmin" = "o"."basalt old version"
          returning "t"."org_id", "t"."id", "t"."label", "t"."docs", "o"."basalt old record"
        ),
        h as (
          insert into "public"."parcel" as "t" ("org_id", "id", "label")
          select "b"."org_id", "b"."id", "b"."label"
          from json_to_record($3::json) as b ("org_id" integer, "id" integer, "label" text)
          where not exists (select from i) and not exists (select from u)
          on conflict ("org_id", "id") do update set "label" = "excluded"."label"
          returning "t"."org_id", "t"."id", "t"."label", "t"."docs", "t"."xmax" = 0 as "basalt inserted"
        ),
        w as (
          select "org_id", "id", "label", "docs", true as "basalt inserted", null::json as "basalt old record" from i
          union all select "org_id", "id", "label", "docs", false, "basalt old record" from u
          union all select "org_id", "id", "label", "docs", "basalt inserted", null from h
        )
        select r.answer, r.created,
          case when r.created is false and r.old_record is null then ('changed meanwhile … ' || r.created::text)::int end,
          (set_config('basalt.changed_rows', json_build_array(json_build_object('record', r.record, 'oldRecord', r.old_record))::text, true) is null)
        from (select 1 from pg_catalog.pg_am limit 1) one
        join (
          select (select row_to_json(s.*) from (select "t"."id") s) as answer, "t"."basalt inserted" as created,
            (select row_to_json(s.*) from (select "t"."org_id", "t"."id", "t"."label", "t"."docs") s) as record,
            "t"."basalt old record" as old_record
          from w "t"
          offset 0
        ) r on true`,
      parameters: [json, json, json],
    })
  })
})

describe('reads of a distributed table › SQL', () => {
  test('counts the values of each facet by itself', async () => {
    const query = 'GET /collections/crate?fields=id&skipTotal=true&facets=org_id&filter=depot_id = 1'
    expect(await compiled(query)).toEqual({
      sql: sql`
        with "facet 0" as materialized (
          select "t"."org_id" as "value", count(*) as "count"
          from "public"."crate" "t"
          where "t"."depot_id" = $1
          group by "t"."org_id"
        )
        select coalesce(json_agg(r.*), '[]'),
          (
            select coalesce(json_agg(r.*), '[]')
            from (
              select "f"."value" as value, "f"."count" as count
              from "facet 0" "f"
              order by "f"."count" desc, "f"."value"
              limit 100
            ) r
          ),
          (select count(*) <= 100 from "facet 0" "f"),
          (
            select row_to_json(s.*)
            from (select min("f"."value") as min, max("f"."value") as max from "facet 0" "f") s
            where s.min is not null
          )
        from (
          select "t"."id"
          from (
            select "t"."id" from "public"."crate" "t" where "t"."depot_id" = $2 order by "t"."org_id", "t"."id" limit 20
          ) "t"
        ) r`,
      parameters: ['1', '1'],
    })
  })

  test('relates records of a page by cursor to rows of the table, not of the page', async () => {
    const query = 'GET /collections/crate?fields=id&expand=depot&cursor=&perPage=2'
    expect(await compiled(query)).toEqual({
      sql: sql`
        select coalesce(json_agg(r.record) filter (where r.ordinal <= 2), '[]'),
          case when count(*) > 2 then (array_agg(r.cursor))[2] end
        from (
          select (select row_to_json(s.*) from (select "t"."id", "t"."expand") s) as record,
            "t"."basalt cursor" as cursor, row_number() over () as ordinal
          from (
            select "t"."id",
              ('{' || concat_ws(',', '"depot":' || (
                select row_to_json(r.*)
                from (
                  select "tx"."id", "tx"."name" from "public"."depot" "tx" where "tx"."id" = "t"."depot_id" limit 1
                ) r
              )) || '}')::json as "expand",
              json_build_array(
                json_build_object('key', 'org_id', 'value', "t"."org_id"::text),
                json_build_object('key', 'id', 'value', "t"."id"::text)
              ) as "basalt cursor"
            from "public"."crate" "t"
            order by "t"."org_id", "t"."id"
            limit 3
          ) "t"
        ) r`,
      parameters: [],
    })
  })
})
