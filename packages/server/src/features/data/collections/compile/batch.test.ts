import { describe, expect, test } from 'vitest'
import { compiledAll, compiledText, sql } from '../tests/compiled.ts'
import { mergeCheck } from './batch.ts'

describe('POST /collections/:table/batch › SQL', () => {
  test('runs operations one after the other', async () => {
    expect(
      await compiledAll('POST /collections/project/batch', {
        operations: [
          { method: 'create', body: { id: 1, name: 'House' } },
          { method: 'update', id: 1, body: { name: 'Home' } },
          { method: 'delete', id: 2 },
        ],
      }),
    ).toEqual([
      {
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
      },
      {
        sql: sql`
          with w as (
            update "public"."project" as "t"
            set "name" = "b"."name"
            from json_to_record($1::json) as b ("name" text)
            where "t"."id" = $2
            returning "t"."id", "t"."name", "t"."owner_id"
          )
          select
            t.record,
            case
              when t.record is null then (
                'missing … ' || case
                  when not row_security_active('"public"."project"'::regclass)
                    and exists (
                      select
                      from pg_catalog.pg_trigger
                      where tgrelid = '"public"."project"'::regclass and tgenabled <> 'D' and tgtype & 19 = 19
                    )
                    and exists (select from "public"."project" "t" where "t"."id" = $3)
                    then 'discarded '
                  else ''
                end || coalesce(t.record::text, '0')
              )::int
            end
          from (select) one
          left join (
            select row_to_json(w.*) as record, null as answer, null as old_record from w offset 0
          ) t on true
          limit 1`,
        parameters: ['{"name":"Home"}', '1', '1'],
      },
      {
        sql: sql`
          with w as (delete from "public"."project" as "t" where "t"."id" = $1 returning 1)
          select
            t.record,
            case
              when t.record is null then (
                'missing … ' || case
                  when not row_security_active('"public"."project"'::regclass)
                    and exists (
                      select
                      from pg_catalog.pg_trigger
                      where tgrelid = '"public"."project"'::regclass and tgenabled <> 'D' and tgtype & 11 = 11
                    )
                    and exists (select from "public"."project" "t" where "t"."id" = $2)
                    then 'discarded '
                  else ''
                end || coalesce(t.record::text, '0')
              )::int
            end
          from (select) one
          left join (
            select 'null'::json as record, null as answer, null as old_record from w offset 0
          ) t on true
          limit 1`,
        parameters: ['2', '2'],
      },
    ])
  })

  test('merges neighbouring creates of the same columns, after a check that this makes no difference', async () => {
    const operations = [
      { method: 'create', body: { id: 1, name: 'Ada' } },
      { method: 'create', body: { name: 'Ben', id: 2 } },
    ]
    const [check, creates] = await compiledAll('POST /collections/person/batch', { operations })
    expect(check).toEqual({ sql: compiledText(mergeCheck), parameters: ['"public"."person"'] })
    expect(creates).toEqual({
      sql: sql`
        with
          w as (
            insert into "public"."person" as "t" ("id", "name")
            select "b"."id", "b"."name"
            from json_to_recordset($1::json) as b ("id" integer, "name" text)
            returning "t"."id", "t"."name"
          ),
          n as (select row_to_json(w.*) as record, row_number() over () as ordinal from w)
        select string_agg(
          '{"index":' || (n.ordinal - 1 + $2::int) || ',"status":201,"body":' || n.record || '}',
          ',' order by n.ordinal
        )
        from n`,
      parameters: ['[{"id":1,"name":"Ada"},{"name":"Ben","id":2}]', '0'],
    })
  })

  test('keeps creates of different columns apart', async () => {
    expect(
      await compiledAll('POST /collections/project/batch', {
        operations: [
          { method: 'create', body: { id: 2, name: 'Garden', owner_id: null } },
          { method: 'create', body: { id: 1, name: 'House' } },
        ],
      }),
    ).toEqual([
      {
        sql: sql`
          with w as (
            insert into "public"."project" as "t" ("id", "name", "owner_id")
            select "b"."id", "b"."name", "b"."owner_id"
            from json_to_record($1::json) as b ("id" integer, "name" text, "owner_id" integer)
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
        parameters: ['{"id":2,"name":"Garden","owner_id":null}'],
      },
      {
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
      },
    ])
  })

  test('keeps upserts apart', async () => {
    expect(
      await compiledAll('POST /collections/draft/batch', {
        operations: [
          { method: 'create', body: { id: 1 }, onConflict: 'id' },
          { method: 'create', body: { id: 2 } },
        ],
      }),
    ).toEqual([
      {
        sql: sql`
          with w as (
            insert into "public"."draft" as "t" ("id")
            select "b"."id"
            from json_to_record($1::json) as b ("id" integer)
            where set_config('basalt.conflicting_row', '', true) is not null
            on conflict ("id") do update set "id" = "excluded"."id"
            where set_config('basalt.conflicting_row', 'found', true) is not null
            returning (select row_to_json(s.*) from (select "t"."id", "t"."body") s) as record
          )
          select
            r.answer,
            r.created,
            case when r.answer is null then ('missing … ' || coalesce(r.answer::text, '0'))::int end
          from (select) one
          left join (
            select
              w.record as answer,
              nullif(current_setting('basalt.conflicting_row'), '') is null as created
            from w
          ) r on true`,
        parameters: ['{"id":1}'],
      },
      {
        sql: sql`
          with w as (
            insert into "public"."draft" as "t" ("id")
            select "b"."id"
            from json_to_record($1::json) as b ("id" integer)
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
        parameters: ['{"id":2}'],
      },
    ])
  })
})
