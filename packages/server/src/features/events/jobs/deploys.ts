import { sql } from '../../../database/sql.ts'

/** Common table expression `job_deploy` of a recursive query: the deploys of queued jobs, one read of an index for each. */
export const jobDeploys = sql`
  job_deploy as (
    (
      select deploy from basalt.jobs where state = 'queued' and deploy is not null order by deploy limit 1
    )
    union all
    select next.deploy from job_deploy
    cross join lateral (
      select j.deploy from basalt.jobs j where j.state = 'queued' and j.deploy > job_deploy.deploy
      order by j.deploy limit 1
    ) next
  )`

/** Common table expression `deploy_head` of a recursive query: the first queued job of each type of each deploy. */
export const deployHeads = sql`
  deploy_head as (
    (
      select deploy, type, run_at, id from basalt.jobs where state = 'queued' and deploy is not null
      order by deploy, type, run_at, id limit 1
    )
    union all
    select next.* from deploy_head
    cross join lateral (
      select j.deploy, j.type, j.run_at, j.id from basalt.jobs j
      where j.state = 'queued' and j.deploy is not null and (j.deploy, j.type) > (deploy_head.deploy, deploy_head.type)
      order by j.deploy, j.type, j.run_at, j.id limit 1
    ) next
  )`

/**
 * Scalar expression: kept deploys, except the live one, with the types of their due jobs. It is JSON with pairs, the longest
 * due first.
 */
export const dueDeploys = sql`(
  with recursive ${deployHeads}
  select jsonb_agg(jsonb_build_array(h.deploy, h.type) order by h.run_at, h.deploy, h.type)
  from deploy_head h join basalt.function_deploys d on d.hash = h.deploy
  where h.run_at <= now() and d.hash is distinct from (select hash from basalt.function_live))`
