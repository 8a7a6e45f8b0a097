/**
 * Files of `src` with tests of reads, which also run as the project `replica`. A replica lags there, and serves a read once it
 * has replayed the writes before it.
 */
export const filesOnReplica = [
  'features/data/collections/tests/{aggregates,facets,filter,list,related-sort,search}',
]
