import { describe, expect, test } from 'vitest'
import { compiled, sql } from '../tests/compiled.ts'

describe('GET /collections/:table?expand › SQL', () => {
  test('reads a many-to-one relation as an object', async () => {
    expect(await compiled('GET /collections/task/7?expand=project')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id")::text, 0))
        from "public"."task" "t", lateral (
          select
            "t"."id",
            "t"."title",
            "t"."done",
            "t"."due",
            "t"."project_id",
            (
              select coalesce(
                json_object_agg(e.name, e.related) filter (where e.related is not null), '{}'
              )
              from (
                values (
                  'project',
                  (
                    select row_to_json(r.*)
                    from (
                      select "tx"."id", "tx"."name", "tx"."owner_id"
                      from "public"."project" "tx"
                      where "tx"."id" = "t"."project_id"
                      limit 1
                    ) r
                  )
                )
              ) e (name, related)
            ) as "expand"
        ) r
        where "t"."id" = $1`,
      parameters: ['7'],
    })
  })

  test('reads a one-to-many relation as an array of at most 1,000', async () => {
    expect(await compiled('GET /collections/project/1?expand=task')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."name", "t"."owner_id")::text, 0))
        from "public"."project" "t", lateral (
          select
            "t"."id",
            "t"."name",
            "t"."owner_id",
            (
              select coalesce(
                json_object_agg(e.name, e.related) filter (where e.related is not null), '{}'
              )
              from (
                values (
                  'task',
                  (
                    select json_agg(r.*)
                    from (
                      select "tx"."id", "tx"."title", "tx"."done", "tx"."due", "tx"."project_id"
                      from "public"."task" "tx"
                      where "tx"."project_id" = "t"."id"
                      order by "tx"."id"
                      limit 1000
                    ) r
                  )
                )
              ) e (name, related)
            ) as "expand"
        ) r
        where "t"."id" = $1`,
      parameters: ['1'],
    })
  })

  test('nests relations', async () => {
    expect(await compiled('GET /collections/task/7?expand=project.owner')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."title", "t"."done", "t"."due", "t"."project_id")::text, 0))
        from "public"."task" "t", lateral (
          select
            "t"."id",
            "t"."title",
            "t"."done",
            "t"."due",
            "t"."project_id",
            (
              select coalesce(
                json_object_agg(e.name, e.related) filter (where e.related is not null), '{}'
              )
              from (
                values (
                  'project',
                  (
                    select row_to_json(r.*)
                    from (
                      select
                        "tx"."id",
                        "tx"."name",
                        "tx"."owner_id",
                        (
                          select coalesce(
                            json_object_agg(e.name, e.related) filter (where e.related is not null),
                            '{}'
                          )
                          from (
                            values (
                              'owner',
                              (
                                select row_to_json(r.*)
                                from (
                                  select "txx"."id", "txx"."name"
                                  from "public"."person" "txx"
                                  where "txx"."id" = "tx"."owner_id"
                                  limit 1
                                ) r
                              )
                            )
                          ) e (name, related)
                        ) as "expand"
                      from "public"."project" "tx"
                      where "tx"."id" = "t"."project_id"
                      limit 1
                    ) r
                  )
                )
              ) e (name, related)
            ) as "expand"
        ) r
        where "t"."id" = $1`,
      parameters: ['7'],
    })
  })

  test('merges paths that begin alike', async () => {
    expect(await compiled('GET /collections/project/1?expand=task.vote,task.project,owner')).toEqual({
      sql: sql`
        select
          row_to_json(r.*),
          to_hex(hashtextextended(row("t"."id", "t"."name", "t"."owner_id")::text, 0))
        from "public"."project" "t", lateral (
          select
            "t"."id",
            "t"."name",
            "t"."owner_id",
            (
              select coalesce(
                json_object_agg(e.name, e.related) filter (where e.related is not null), '{}'
              )
              from (
                values (
                  'task',
                  (
                    select json_agg(r.*)
                    from (
                      select
                        "tx"."id",
                        "tx"."title",
                        "tx"."done",
                        "tx"."due",
                        "tx"."project_id",
                        (
                          select coalesce(
                            json_object_agg(e.name, e.related) filter (where e.related is not null),
                            '{}'
                          )
                          from (
                            values (
                              'vote',
                              (
                                select json_agg(r.*)
                                from (
                                  select
                                    "txx"."task_id",
                                    "txx"."person_id",
                                    "txx"."points",
                                    "txx"."cast_at"
                                  from "public"."vote" "txx"
                                  where "txx"."task_id" = "tx"."id"
                                  order by "txx"."task_id", "txx"."person_id"
                                  limit 1000
                                ) r
                              )
                            ),
                            (
                              'project',
                              (
                                select row_to_json(r.*)
                                from (
                                  select "txx"."id", "txx"."name", "txx"."owner_id"
                                  from "public"."project" "txx"
                                  where "txx"."id" = "tx"."project_id"
                                  limit 1
                                ) r
                              )
                            )
                          ) e (name, related)
                        ) as "expand"
                      from "public"."task" "tx"
                      where "tx"."project_id" = "t"."id"
                      order by "tx"."id"
                      limit 1000
                    ) r
                  )
                ),
                (
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
        ) r
        where "t"."id" = $1`,
      parameters: ['1'],
    })
  })

  test('reads related records only for the page, by a key that is not returned', async () => {
    expect(await compiled('GET /collections/task?fields=title&expand=project&skipTotal=true')).toEqual({
      sql: sql`
        select coalesce(json_agg(r.*), '[]')
        from (
          select
            "t"."title",
            (
              select coalesce(
                json_object_agg(e.name, e.related) filter (where e.related is not null), '{}'
              )
              from (
                values (
                  'project',
                  (
                    select row_to_json(r.*)
                    from (
                      select "tx"."id", "tx"."name", "tx"."owner_id"
                      from "public"."project" "tx"
                      where "tx"."id" = "t"."project_id"
                      limit 1
                    ) r
                  )
                )
              ) e (name, related)
            ) as "expand"
          from (
            select "t"."title", "t"."project_id" from "public"."task" "t" order by "t"."id" limit 20
          ) "t"
        ) r`,
      parameters: [],
    })
  })
})
