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

/** Returns the connections of a worker: an equal part of those of the machine. The first workers get the remainder. */
export function connectionsOf(
  worker: number,
  { workers, maxConns }: { workers: number; maxConns: number },
): number {
  return Math.floor(maxConns / workers) + (worker <= maxConns % workers ? 1 : 0)
}
