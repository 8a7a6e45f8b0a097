import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * Metrics of the process: memory, processor, garbage collections, delay of the event loop. What observes these cannot
 * be stopped, so all servers of a process share one: an observer of each would hold a closed server in memory and
 * wake the process a hundred times a second.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
