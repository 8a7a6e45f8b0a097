import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('POST /collections/:table › SQL', () => {
  test('inserts the columns in the body', async () => {
    expect(await compiled('POST /collections/project', { id: 1, name: 'House' })).toEqual({
      sql: sql`
        with w as (
          insert into "public"."project" as "t" ("id", "name")
          select "b"."id", "b"."name"
          from json_to_record($1::json) as b ("id" integer, "name" text)
          returning "t"."id", "t"."name", "t"."owner_id"
        )
        select
          t.record,
          case when t.record is null then ('missing … ' || coalesce(t.record::text, '0'))::int end
        from (select) one
        left join (
          select row_to_json(w.*) as record, null as answer, null as old_record from w offset 0
        ) t on true
        limit 1`,
      parameters: ['{"id":1,"name":"House"}'],
    })
  })

  test('inserts columns in table order, whatever the order of the body', async () => {
    expect(await compiled('POST /collections/project', { name: 'House', id: 1 })).toEqual({
      sql: sql`
        with w as (
          insert into "public"."project" as "t" ("id", "name")
          select "b"."id", "b"."name"
          from json_to_record($1::json) as b ("id" integer, "name" text)
          returning "t"."id", "t"."name", "t"."owner_id"
        )
        select
          t.record,
          case when t.record is null then ('missing … ' || coalesce(t.record::text, '0'))::int end
        from (select) one
        left join (
          select row_to_json(w.*) as record, null as answer, null as old_record from w offset 0
        ) t on true
        limit 1`,
      parameters: ['{"name":"House","id":1}'],
    })
  })

  test('inserts a row of defaults for an empty body', async () => {
    expect(await compiled('POST /collections/draft', {})).toEqual({
      sql: sql`
        with w as (
          insert into "public"."draft" as "t"
          select
          from json_to_record($1::json) as b ("_" text)
          returning "t"."id", "t"."body"
        )
        select
          t.record,
          case when t.record is null then ('missing … ' || coalesce(t.record::text, '0'))::int end
        from (select) one
        left join (
          select row_to_json(w.*) as record, null as answer, null as old_record from w offset 0
        ) t on true
        limit 1`,
      parameters: ['{}'],
    })
  })

  test('converts documents and arrays', async () => {
    expect(
      await compiled('POST /collections/note', {
        id: 1,
        tags: ['red'],
        details: { size: 3 },
        pages: '[1,9)',
      }),
    ).toEqual({
      sql: sql`
        with w as (
          insert into "public"."note" as "t" ("id", "tags", "details", "pages")
          select "b"."id", "b"."tags", "b"."details", "b"."pages"
          from json_to_record($1::json) as b (
            "id" integer, "tags" text[], "details" jsonb, "pages" int4range
          )
          returning "t"."id", "t"."tags", "t"."details", "t"."pages"
        )
        select
          t.record,
          case when t.record is null then ('missing … ' || coalesce(t.record::text, '0'))::int end
        from (select) one
        left join (
          select row_to_json(w.*) as record, null as answer, null as old_record from w offset 0
        ) t on true
        limit 1`,
      parameters: ['{"id":1,"tags":["red"],"details":{"size":3},"pages":"[1,9)"}'],
    })
  })

  test('returns the requested fields and relations', async () => {
    expect(
      await compiled('POST /collections/project?fields=name&expand=owner', {
        id: 1,
        name: 'House',
        owner_id: 3,
      }),
    ).toEqual({
      sql: sql`
        with w as (
          insert into "public"."project" as "t" ("id", "name", "owner_id")
          select "b"."id", "b"."name", "b"."owner_id"
          from json_to_record($1::json) as b ("id" integer, "name" text, "owner_id" integer)
          returning
            "t"."name",
            (
              select coalesce(
                json_object_agg(e.name, e.related) filter (where e.related is not null), '{}'
              )
              from (
                values (
                  'owner',
                  (
                    select row_to_json(r.*)
                    from (
                      select "tx"."id", "tx"."name"
                      from "public"."person" "tx"
                      where "tx"."id" = "t"."owner_id"
                      limit 1
                    ) r
                  )
                )
              ) e (name, related)
            ) as "expand"
        )
        select
          t.record,
          case when t.record is null then ('missing … ' || coalesce(t.record::text, '0'))::int end
        from (select) one
        left join (
          select row_to_json(w.*) as record, null as answer, null as old_record from w offset 0
        ) t on true
        limit 1`,
      parameters: ['{"id":1,"name":"House","owner_id":3}'],
    })
  })
})
