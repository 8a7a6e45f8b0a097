import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type RuleFile, ruleFiles } from './site-rules.ts'

/** Reads the rule files of a deploy. It has at most one of each name. */
export async function readRuleFiles(database: Queryable, deployId: string): Promise<RuleFile[]> {
  return await database.many(sql`
    select f.path, b.bytes from basalt.site_files f join basalt.site_blobs b using (sha256)
    where f.deploy_id = ${deployId}::uuid and f.path = any(${ruleFiles}::text[])`)
}
