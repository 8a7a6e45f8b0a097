import type { FastifyRequest } from 'fastify'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Privileges } from '../../../../database/catalog/model.ts'
import type { AdmitsAnonymous } from '../../../../http/route-config.ts'

/**
 * Admits requests without a token where the catalog holds a grant for them. Before such a request is rejected, the
 * catalog is read again, as for an unknown name. Concurrent requests share that read.
 */
export function admitWhere(
  live: LiveCatalog,
  isGranted: (catalog: Catalog, request: FastifyRequest) => boolean,
  request: FastifyRequest,
): ReturnType<AdmitsAnonymous> {
  const { current } = live
  if (isGranted(current, request)) return true
  return live.refresh(current).then(
    (isNewer) => isNewer && isGranted(live.current, request),
    // A token is required whether or not the database can be reached.
    () => false,
  )
}

export type Privilege = keyof Privileges

/** Returns whether the collection in the path is open for one of these privileges. */
export function isOpenFor(...privileges: readonly Privilege[]) {
  return ({ relations }: Catalog, { params }: FastifyRequest): boolean => {
    // Every path that uses this check has the parameter.
    const { table } = params as { table: string }
    const relation = relations.get(table)
    return relation !== undefined && privileges.some((privilege) => relation.anonymous[privilege])
  }
}

/** Returns whether at least one collection can be written. */
export function isAnyWritable({ relations }: Catalog): boolean {
  return [...relations.values()].some(
    ({ anonymous }) => anonymous.insert || anonymous.update || anonymous.delete,
  )
}
