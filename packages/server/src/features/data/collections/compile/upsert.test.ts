import { describe, expect, test } from 'vitest'
import { compiled, compiledAll, sql } from '../tests/compiled.ts'

describe('POST /collections/:table?onConflict › SQL', () => {
  test('updates the record that has the key, and notes that it was found', async () => {
    expect(await compiled('POST /collections/project?onConflict=id', { id: 1, name: 'House' })).toEqual({
      sql: sql`
        with w as (
          insert into "public"."project" as "t" ("id", "name")
          select "b"."id", "b"."name"
          from json_to_record($1::json) as b ("id" integer, "name" text)
          where set_config('basalt.conflicting_row', '', true) is not null
          on conflict ("id") do update set "name" = "excluded"."name"
          where set_config('basalt.conflicting_row', 'found', true) is not null
          returning (
            select row_to_json(s.*) from (select "t"."id", "t"."name", "t"."owner_id") s
          ) as record
        )
        select w.record, nullif(current_setting('basalt.conflicting_row'), '') is null
        from w`,
      parameters: ['{"id":1,"name":"House"}'],
    })
  })

  test('conflicts on every column of a composite key', async () => {
    expect(
      await compiled('POST /collections/task?onConflict=project_id,title', {
        id: 7,
        project_id: 1,
        title: 'Paint',
        done: true,
      }),
    ).toEqual({
      sql: sql`
        with w as (
          insert into "public"."task" as "t" ("id", "title", "done", "project_id")
          select "b"."id", "b"."title", "b"."done", "b"."project_id"
          from json_to_record($1::json) as b (
            "id" integer, "title" text, "done" boolean, "project_id" integer
          )
          where set_config('basalt.conflicting_row', '', true) is not null
          on conflict ("project_id", "title")
          do update set "id" = "excluded"."id", "done" = "excluded"."done"
          where set_config('basalt.conflicting_row', 'found', true) is not null
          returning (
            select row_to_json(s.*)
            from (select "t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id") s
          ) as record
        )
        select w.record, nullif(current_setting('basalt.conflicting_row'), '') is null
        from w`,
      parameters: ['{"id":7,"project_id":1,"title":"Paint","done":true}'],
    })
  })

  test('updates the key itself when the body has nothing else', async () => {
    expect(await compiled('POST /collections/draft?onConflict=id', { id: 1 })).toEqual({
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
        select w.record, nullif(current_setting('basalt.conflicting_row'), '') is null
        from w`,
      parameters: ['{"id":1}'],
    })
  })

  test('reads the record that has the key with onConflictAction=ignore', async () => {
    expect(
      await compiledAll('POST /collections/project?onConflict=id&onConflictAction=ignore', {
        id: 1,
        name: 'House',
      }),
    ).toEqual([
      {
        sql: sql`
          with w as (
            insert into "public"."project" as "t" ("id", "name")
            select "b"."id", "b"."name"
            from json_to_record($1::json) as b ("id" integer, "name" text)
            where set_config('basalt.conflicting_row', '', true) is not null
            on conflict ("id") do nothing
            returning (
              select row_to_json(s.*) from (select "t"."id", "t"."name", "t"."owner_id") s
            ) as record
          )
          select w.record, nullif(current_setting('basalt.conflicting_row'), '') is null
          from w`,
        parameters: ['{"id":1,"name":"House"}'],
      },
      {
        sql: sql`
          select row_to_json(r.*) as record
          from (
            select "t"."id", "t"."name", "t"."owner_id"
            from "public"."project" "t"
            where "t"."id" = (select "b"."id" from json_to_record($1::json) as b ("id" integer))
            limit 1
          ) r`,
        parameters: ['{"id":1,"name":"House"}'],
      },
    ])
  })

  test('returns the requested fields', async () => {
    expect(
      await compiled('POST /collections/project?onConflict=id&fields=name', { id: 1, name: 'House' }),
    ).toEqual({
      sql: sql`
        with w as (
          insert into "public"."project" as "t" ("id", "name")
          select "b"."id", "b"."name"
          from json_to_record($1::json) as b ("id" integer, "name" text)
          where set_config('basalt.conflicting_row', '', true) is not null
          on conflict ("id") do update set "name" = "excluded"."name"
          where set_config('basalt.conflicting_row', 'found', true) is not null
          returning
            (select row_to_json(s.*) from (select "t"."id", "t"."name", "t"."owner_id") s) as record,
            (select row_to_json(s.*) from (select "t"."name") s) as answer
        )
        select w.answer, nullif(current_setting('basalt.conflicting_row'), '') is null
        from w`,
      parameters: ['{"id":1,"name":"House"}'],
    })
  })
})
