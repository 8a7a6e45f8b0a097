import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('DELETE /collections/:table › SQL', () => {
  test('deletes a record, and fails when there is none', async () => {
    expect(await compiled('DELETE /collections/project/1')).toEqual({
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
      parameters: ['1', '1'],
    })
  })

  test('finds the record by each value of a composite key', async () => {
    expect(await compiled('DELETE /collections/vote/7,3')).toEqual({
      sql: sql`
        with w as (
          delete from "public"."vote" as "t"
          where "t"."task_id" = $1 and "t"."person_id" = $2
          returning 1
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
                    where tgrelid = '"public"."vote"'::regclass and tgenabled <> 'D' and tgtype & 11 = 11
                  )
                  and exists (
                    select from "public"."vote" "t" where "t"."task_id" = $3 and "t"."person_id" = $4
                  )
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
      parameters: ['7', '3', '7', '3'],
    })
  })

  test('deletes by filter, and fails unless the number is the expected one', async () => {
    expect(
      await compiled("DELETE /collections/task?filter=done = true AND project.name = 'House'&expect=4"),
    ).toEqual({
      sql: sql`
        with w as (
          delete from "public"."task" as "t"
          where (
            "t"."done" = $1
            and exists (
              select
              from "public"."project" "tx"
              where "tx"."id" = "t"."project_id" and "tx"."name" = $2
            )
          )
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
      parameters: ['true', 'House', '4'],
    })
  })

  test('returns the deleted records', async () => {
    expect(
      await compiled('DELETE /collections/task?filter=done = true&expect=4&return=records&fields=id'),
    ).toEqual({
      sql: sql`
        with w as (
          delete from "public"."task" as "t"
          where "t"."done" = $1
          returning (select row_to_json(s.*) from (select "t"."id") s) as answer
        )
        select
          c.count,
          c.answers,
          case when c.count <> $2::bigint then ('unexpected count … ' || c.count)::int end
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
      parameters: ['true', '4'],
    })
  })
})
