import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * Returns the metrics of the process: memory, processor, garbage collections and event loop delay. Their
 * observers cannot be stopped, so all servers of a process share them. An observer per server would hold closed
 * servers in memory and wake the process a hundred times a second.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
