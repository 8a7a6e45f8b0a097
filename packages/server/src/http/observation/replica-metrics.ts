import { Counter, Gauge } from 'prom-client'
import type { ReadReplicas } from '../../database/replicas/read-replicas.ts'
import type { Metrics } from './metrics.ts'

/** Adds the share of reads, the lag and the fallbacks of read replicas. */
export function watchReplicas(
  { registry }: Pick<Metrics, 'registry'>,
  replicas: Pick<ReadReplicas, 'list' | 'primaryReads' | 'fallbacks'>,
): void {
  const registers = [registry]
  new Counter({
    name: 'basalt_database_reads_total',
    help: 'Reads of collections, by the server that served them: primary, or the address of a replica.',
    labelNames: ['server'],
    registers,
    collect() {
      this.reset()
      this.inc({ server: 'primary' }, replicas.primaryReads)
      for (const { address, reads } of replicas.list()) this.inc({ server: address }, reads)
    },
  })
  new Counter({
    name: 'basalt_replica_fallbacks_total',
    help: 'Reads that the primary served although a replica may serve them, by reason.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of replicas.fallbacks) this.inc({ reason }, count)
    },
  })
  new Gauge({
    name: 'basalt_replica_in_use',
    help: '1 while the replica serves reads, otherwise 0.',
    labelNames: ['replica'],
    registers,
    collect() {
      for (const { address, refusal } of replicas.list()) {
        this.set({ replica: address }, refusal === undefined ? 1 : 0)
      }
    },
  })
  new Gauge({
    name: 'basalt_replica_lag_seconds',
    help: 'Age of the data of the replica: time since it was complete, as of the last check.',
    labelNames: ['replica'],
    registers,
    collect() {
      for (const { address, lagSeconds } of replicas.list()) this.set({ replica: address }, lagSeconds)
    },
  })
}
