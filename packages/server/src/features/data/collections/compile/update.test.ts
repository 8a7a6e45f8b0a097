import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('PATCH /collections/:table › SQL', () => {
  test('updates the columns in the body', async () => {
    expect(await compiled('PATCH /collections/project/1', { name: 'House' })).toEqual({
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
      parameters: ['{"name":"House"}', '1', '1'],
    })
  })

  test('finds the record by each value of a composite key', async () => {
    expect(await compiled('PATCH /collections/vote/7,3', { points: 3 })).toEqual({
      sql: sql`
        with w as (
          update "public"."vote" as "t"
          set "points" = "b"."points"
          from json_to_record($1::json) as b ("points" numeric)
          where "t"."task_id" = $2 and "t"."person_id" = $3
          returning "t"."task_id", "t"."person_id", "t"."points", "t"."cast_at"
        )
        select
          t.record,
          case
            when t.record is null then (
              'missing … ' || case
                when not row_security_active('"public"."vote"'::regclass)
                  and exists (
                    select
                    from pg_catalog.pg_trigger
                    where tgrelid = '"public"."vote"'::regclass and tgenabled <> 'D' and tgtype & 19 = 19
                  )
                  and exists (
                    select from "public"."vote" "t" where "t"."task_id" = $4 and "t"."person_id" = $5
                  )
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
      parameters: ['{"points":3}', '7', '3', '7', '3'],
    })
  })

  test('returns the requested fields', async () => {
    expect(await compiled('PATCH /collections/project/1?fields=name', { name: 'House' })).toEqual({
      sql: sql`
        with w as (
          update "public"."project" as "t"
          set "name" = "b"."name"
          from json_to_record($1::json) as b ("name" text)
          where "t"."id" = $2
          returning "t"."name"
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
      parameters: ['{"name":"House"}', '1', '1'],
    })
  })

  test('updates by filter, and fails unless the number is the expected one', async () => {
    expect(
      await compiled("PATCH /collections/task?filter=due < '2026-01-01'&expect=4", { done: true }),
    ).toEqual({
      sql: sql`
        with w as (
          update "public"."task" as "t"
          set "done" = "b"."done"
          from json_to_record($1::json) as b ("done" boolean)
          where "t"."due" < $2
          returning 1
        )
        select
          c.count,
          c.answers,
          case when c.count <> $3::bigint then ('unexpected count … ' || c.count)::int end
        from (
          select count(*) filter (where x.excess is null) as count, null as answers
          from (
            select
              w.*,
              case
                when row_number() over () > 1000
                  then ('unexpected count … ' || row_number() over ())::int
              end as excess
            from w
          ) x
        ) c`,
      parameters: ['{"done":true}', '2026-01-01', '4'],
    })
  })

  test('returns the records of a write by filter', async () => {
    expect(
      await compiled('PATCH /collections/task?filter=done = false&expect=4&return=records&fields=id', {
        done: true,
      }),
    ).toEqual({
      sql: sql`
        with w as (
          update "public"."task" as "t"
          set "done" = "b"."done"
          from json_to_record($1::json) as b ("done" boolean)
          where "t"."done" = $2
          returning (select row_to_json(s.*) from (select "t"."id") s) as answer
        )
        select
          c.count,
          c.answers,
          case when c.count <> $3::bigint then ('unexpected count … ' || c.count)::int end
        from (
          select
            count(*) filter (where x.excess is null) as count,
            coalesce(json_agg(x.answer), '[]') as answers
          from (
            select
              w.*,
              case
                when row_number() over () > 1000
                  then ('unexpected count … ' || row_number() over ())::int
              end as excess
            from w
          ) x
        ) c`,
      parameters: ['{"done":true}', 'false', '4'],
    })
  })
})
