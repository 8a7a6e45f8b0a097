import type { Catalog } from '../../../database/catalog/model.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { IndexStatus } from '../search/index.ts'
import { findAccess } from './access-rules.ts'
import { type Advice, adviceId, type Dismissal, type Finding, type Rule, severities } from './advice.ts'
import { findCollations, type PrefixFilters } from './collation-rules.ts'
import { listDismissals } from './dismissals.ts'
import { findLocalReads, findRegainedPrivileges } from './distribution-rules.ts'
import { type Captured, findUncaptured } from './event-rules.ts'
import { findHealth } from './health-rules.ts'
import { findIndexes } from './index-rules.ts'
import type { Planner } from './policy-plans.ts'
import { findRelationNames } from './relation-rules.ts'

const unindexedSearch: Rule = {
  name: 'search_unindexed',
  group: 'indexes',
  title: 'A collection is searched without an index',
  explanation:
    'Each search reads the text of every row. The command builds the index without blocking writers.',
}

export interface AdvisorDeps {
  readonly database: Queryable & Planner
  readonly catalog: Catalog
  /** Lists the collections with search settings or search indexes. */
  readonly listSearches: () => Promise<readonly IndexStatus[]>
  /** State of event capture for the collections that have a listener. */
  readonly listCaptured: () => Promise<readonly Captured[]>
  /** Columns that requests on this node have filtered by their beginning; none beside the server. */
  readonly prefixFilters?: PrefixFilters
}

/** Lists the advice, the most severe first. The server and the command line both use it. */
export async function listAdvice(deps: AdvisorDeps): Promise<Advice[]> {
  const { database, catalog, listSearches, listCaptured, prefixFilters = new Map() } = deps
  const found = [
    ...findAccess(catalog),
    ...findRelationNames(catalog),
    ...(await findIndexes(catalog, database)),
    ...(await findHealth(catalog, database)),
    ...(await findCollations(catalog, database, prefixFilters)),
    ...(await listSearches()).flatMap(adviseSearch),
    ...findUncaptured(await listCaptured()),
    ...(await findLocalReads(catalog, database)),
    ...(await findRegainedPrivileges(catalog, database)),
  ]
  const dismissals = new Map(
    (await listDismissals(database)).map(({ adviceId, ...dismissal }) => [adviceId, dismissal]),
  )
  return found
    .map((finding) => toAdvice(finding, dismissals.get(adviceId(finding))))
    .sort(
      (one, other) =>
        severities.indexOf(one.severity) - severities.indexOf(other.severity) ||
        compare(one.rule, other.rule) ||
        compare(one.object, other.object),
    )
}

function adviseSearch({ collection, advice }: IndexStatus): Finding[] {
  return advice === null
    ? []
    : [{ rule: unindexedSearch, severity: 'warning', object: collection, command: advice }]
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

function toAdvice(finding: Finding, dismissal: Dismissal | null = null): Advice {
  const { rule, severity, object, detail = null, statement = null, command = null } = finding
  return {
    id: adviceId(finding),
    rule: rule.name,
    group: rule.group,
    severity,
    title: rule.title,
    object,
    detail,
    explanation: rule.explanation,
    statement,
    command,
    docs: `/docs/guides/advisors#${rule.name}`,
    dismissal,
  }
}
