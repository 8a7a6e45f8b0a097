/**
 * Files of `src` whose tests also run with the callers' context in literals, as the project `literals`. A distributed
 * engine needs that dialect, and any PostgreSQL accepts it.
 */
export const filesWithLiterals = [
  'features/data/collections/tests/{batch,bulk,export,expand,import,public-reads,record,row-level-security,upsert}',
  'features/data/policies/tests/explain',
  'features/data/procedures/tests/procedures',
]
