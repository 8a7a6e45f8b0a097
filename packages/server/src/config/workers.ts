import { availableParallelism } from 'node:os'

/** Keys that determine the number of workers. */
export interface WorkerKeys {
  readonly server: { readonly workers: number | 'auto' }
  readonly database: { readonly url: string; readonly max_conns: number }
}

/** Minimum number of connections of a worker: two for the system, one for each login of requests. */
export const fewestConnections = 4

/** Returns the number of workers on this machine. */
export function countWorkers({ server, database }: WorkerKeys, cores = availableParallelism()): number {
  if (server.workers !== 'auto') return server.workers
  const free = database.url === '' ? cores - 1 : cores
  return Math.max(1, Math.min(free, Math.floor(database.max_conns / fewestConnections)))
}
